package console

import (
	"io"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Progress returns a function that shows how far a reader of the log is, and a function that ends
// the display. If stderr is not a terminal, they do nothing. The caller MUST call end.
func Progress(
	stderr io.Writer,
) (show func(message string, at, head uint64), end func(complete bool)) {
	if !IsTerminal(stderr) {
		return func(string, uint64, uint64) {}, func(bool) {}
	}
	bar := progress.NewWriter()
	bar.SetOutputWriter(Controls(stderr))
	bar.SetAutoStop(false)
	bar.SetTrackerPosition(progress.PositionRight)
	bar.Style().Visibility = progress.StyleVisibility{
		ETA: true, Percentage: true, Time: true, Tracker: true,
	}
	tracker := &progress.Tracker{Message: "events"}
	bar.AppendTracker(tracker)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		bar.Render()
	}()
	show = func(message string, at, head uint64) {
		tracker.UpdateTotal(int64(head)) //nolint:gosec // positions are below the largest int64
		tracker.SetValue(int64(at))      //nolint:gosec // as above
		tracker.UpdateMessage(message)
	}
	return show, func(complete bool) {
		if complete {
			tracker.MarkAsDone()
		} else {
			tracker.MarkAsErrored()
		}
		bar.Stop()
		<-ended
	}
}
