package clickcount

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/projection"
)

// Day counts the days since 1970, UTC: there are many in memory.
type Day = int32

func dayOf(at time.Time) Day {
	const seconds = 24 * 60 * 60
	day := at.Unix() / seconds
	if at.Unix()%seconds < 0 {
		day--
	}
	return Day(day) //nolint:gosec // checkYear bounds it
}

// EachCounted hands on the clicks that are counted, with their link and day.
func EachCounted(
	batch events.ClicksRecorded, count func(link uuid.UUID, click events.Click, on Day),
) error {
	for i, click := range batch.Clicks {
		link, err := projection.ParseID(click.URLID)
		if err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if err := projection.CheckTime(click.At); err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if !click.Bot {
			count(link, click, dayOf(click.At))
		}
	}
	return nil
}
