package operators

// This file draws the charts of how far a projection was behind, and how fast it was.

import (
	"fmt"
	"math"
	"strings"
	"time"

	"linkledger/internal/operators/monitor"
)

// line is a line of a chart, in units of its view box.
type line struct {
	Width, Height int
	Points        string
	Most          int
}

// The size of a chart.
const (
	lineWidth  = 360
	lineHeight = 80
)

// newLine returns the line of samples. If what is "rate", it shows the rate, otherwise how many
// events the projection was behind.
func newLine(all []monitor.Sample, what string) line {
	l := line{Width: lineWidth, Height: lineHeight}
	value := func(s monitor.Sample) float64 {
		if what == "rate" {
			return s.Rate
		}
		return float64(s.Behind)
	}
	most := 0.0
	for _, s := range all {
		most = max(most, value(s))
	}
	l.Most = int(math.Ceil(most))
	first := all[0].At
	span := max(all[len(all)-1].At.Sub(first), time.Second)
	var points strings.Builder
	for _, s := range all {
		x := lineWidth * float64(s.At.Sub(first)) / float64(span)
		y := float64(lineHeight - 1)
		if most > 0 {
			y -= (lineHeight - 2) * value(s) / most
		}
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
	}
	l.Points = strings.TrimSpace(points.String())
	return l
}
