package maintenance

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/progress"

	"linkledger/internal/console"
	"linkledger/projections/engine/status"
)

// progressBars shows a progress bar per projection on a terminal.
type progressBars struct {
	writer   progress.Writer
	trackers map[string]*progress.Tracker
	ended    chan struct{}
}

func newProgressBars(out io.Writer) *progressBars {
	b := &progressBars{
		writer: progress.NewWriter(), trackers: make(map[string]*progress.Tracker),
		ended: make(chan struct{}),
	}
	b.writer.SetOutputWriter(console.Controls(out))
	b.writer.SetAutoStop(false)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.Style().Visibility = progress.StyleVisibility{
		ETA: true, Percentage: true, Time: true, Tracker: true,
	}
	go func() {
		defer close(b.ended)
		b.writer.Render()
	}()
	return b
}

func (b *progressBars) update(all []status.Progress) {
	for _, p := range all {
		tracker, ok := b.trackers[p.Name]
		if !ok {
			tracker = &progress.Tracker{}
			b.trackers[p.Name] = tracker
			b.writer.AppendTracker(tracker)
		}
		tracker.UpdateMessage(
			fmt.Sprintf("%s generation %d, %.0f events/s", p.Name, p.Generation, p.Rate),
		)
		tracker.UpdateTotal(int64(p.Head)) //nolint:gosec // a log has far less than 2^63 bytes
		if p.Done {
			tracker.MarkAsDone()
			continue
		}
		tracker.SetValue(min(int64(p.Position), int64(p.Head)-1)) //nolint:gosec // see above
	}
}

func (b *progressBars) end(complete bool) {
	for _, tracker := range b.trackers {
		if !complete && !tracker.IsDone() {
			tracker.MarkAsErrored()
		}
	}
	b.writer.Stop()
	<-b.ended
}
