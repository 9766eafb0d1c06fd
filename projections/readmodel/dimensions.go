package readmodel

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// The dimensions of click counts.
const (
	DimensionReferrer = "referrer" // host
	DimensionCountry  = "country"  // ISO 3166-1 code of two letters
	DimensionBrowser  = "browser"
	DimensionOS       = "os"
	DimensionDevice   = "device" // desktop, mobile or tablet
)

// OtherValues stands for all values of a dimension that have no row of their own. A value gets no
// row on a day if the link already had MaxValues other values on that day.
const OtherValues = "other"

// MaxValues is the maximum number of values of a dimension for one link on one day, not counting
// OtherValues.
const MaxValues = 100

// ClickDimension is a row of click_dimensions.
type ClickDimension struct {
	bun.BaseModel `bun:"table:linkledger.click_dimensions,alias:dimension"`

	URLID     uuid.UUID `bun:"url_id,pk,type:uuid"`
	Day       time.Time `bun:"day,pk"` // midnight, UTC
	Dimension string    `bun:"dimension,pk"`
	Value     string    `bun:"value,pk"`
	Clicks    int64     `bun:"clicks"`
}
