package readmodel

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// SetBlock is how many links a row of link_sets tells of.
const SetBlock = 2048

// Forever is when a version ends that goes on.
const Forever int64 = math.MaxInt64

// Names of the sets of links in link_sets. Those of the flags are the names of their columns.
const (
	SetLive    = "live"
	SetVisited = "visited" // ever
	SetClicked = "clicked" // since the last reset
)

// Meaningful returns the condition that a row of a table says anything: a set that everybody has
// left may have rows.
func Meaningful(table string) bun.Safe {
	if table == "link_sets" {
		return "bit_count(bits) > 0"
	}
	return "true"
}

// SetOfTag names the set of the links with a tag.
func SetOfTag(id uuid.UUID) string { return "tag:" + id.String() }

// SetOfDay names the set of the links that were created on that day, UTC. Names of days sort like
// the days.
func SetOfDay(at time.Time) string { return "day:" + at.UTC().Format(time.DateOnly) }

// Days are before the names of all days, and after them.
const (
	BeforeDays = "day:"
	AfterDays  = "day;"
)

// SearchText returns what a search for a part of any of the texts looks at, and what it looks for.
func SearchText(texts ...string) string { return strings.ToLower(strings.Join(texts, "\n")) }
