package clickcount

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/robots"
)

// Day is a number of days since 1970, UTC. It has only 32 bits because many are in memory.
type Day = int32

func dayOf(at time.Time) Day {
	const seconds = 24 * 60 * 60
	day := at.Unix() / seconds
	if at.Unix()%seconds < 0 {
		day--
	}
	return Day(day) //nolint:gosec // CheckTime bounds it
}

// EachCounted calls count for each click of a batch that is not a robot's, with the link and day of
// the click. The judgement decides which clicks are a robot's. If it is nil, the recorded verdicts
// decide.
func EachCounted(
	batch events.ClicksRecorded, judgement *robots.Judgement,
	count func(link uuid.UUID, click events.Click, on Day),
) error {
	for i, click := range batch.Clicks {
		link, err := projection.ParseID(click.URLID)
		if err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if err := projection.CheckTime(click.At); err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		// The last argument says whether the agent looks human: a click of a robot has an OS only
		// if LooksHuman is true for its agent.
		if !judgement.IsRobot(click.At, click.Program, click.Bot, click.OS != "") {
			count(link, click, dayOf(click.At))
		}
	}
	return nil
}
