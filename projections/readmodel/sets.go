package readmodel

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/typed"
)

// SetBlock is the number of links in a row of link_sets.
const SetBlock = 2048

// Forever is the value of the column until in a row of a version that is still valid.
const Forever int64 = math.MaxInt64

// Names of sets of links in link_sets. The sets of the flags have the names of their columns.
const (
	SetLive    = "live"
	SetVisited = "visited" // ever
	SetClicked = "clicked" // since the last reset
)

// NonEmptyRow returns the SQL condition that a row of a table holds information. A set without
// links is the same as a missing set.
func NonEmptyRow(table string) bun.Safe {
	if table == "link_sets" {
		return "bit_count(bits) > 0"
	}
	return "true"
}

// SetOfTag returns the name of the set of links with a tag.
func SetOfTag(id uuid.UUID) string { return "tag:" + id.String() }

// TagSets is the SQL condition that a row belongs to a set that SetOfTag names.
const TagSets = "name > 'tag:' AND name < 'tag;'"

// SetOfDay returns the name of the set of links that were created on a day, UTC. The names sort
// like the days.
func SetOfDay(at time.Time) string { return "day:" + at.UTC().Format(time.DateOnly) }

// BeforeDays sorts before the names of all days, and AfterDays after them.
const (
	BeforeDays = "day:"
	AfterDays  = "day;"
)

// SearchText returns the text in which a search looks for a part of any of the texts. Different
// spellings of a text become the same (typed.Fold). A search term is converted in the same way.
func SearchText(texts ...string) string { return typed.Fold(strings.Join(texts, "\n")) }
