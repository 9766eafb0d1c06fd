package projections

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
)

// dayNumber counts the days since 1970, UTC: there are many in memory.
type dayNumber = int32

func dayOf(at time.Time) dayNumber {
	const seconds = 24 * 60 * 60
	day := at.Unix() / seconds
	if at.Unix()%seconds < 0 {
		day--
	}
	return dayNumber(day) //nolint:gosec // checkYear bounds it
}

// eachCounted hands on the clicks that are counted, with their link and day.
func eachCounted(batch events.ClicksRecorded, count func(link uuid.UUID, click events.Click, on dayNumber)) error {
	for i, click := range batch.Clicks {
		link, err := parseID(click.URLID)
		if err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if err := checkTime(click.At); err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if !click.Bot {
			count(link, click, dayOf(click.At))
		}
	}
	return nil
}
