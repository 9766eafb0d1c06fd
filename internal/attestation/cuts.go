package attestation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"linkledger/events/eventstore"
	"linkledger/events/proof/streamcheck"
	"linkledger/internal/console"
)

// maxComparedStreams is the largest number of findings for which the revisions in the log are
// printed beside those that readers get. Later findings are printed without them.
const maxComparedStreams = 100

// printedCuts is the printed form of the findings about streams, such as missing or hidden events.
type printedCuts struct {
	Cuts     []printedCut `json:"cuts"`
	MoreCuts int64        `json:"more_cuts"` // findings that Cuts lacks
	// Notices are the streams of the event store that set who may read streams in general.
	Notices []string `json:"notices"`
}

// printedCut is a finding about one stream.
type printedCut struct {
	Kind     streamcheck.Kind `json:"kind"`
	Stream   string           `json:"stream"`
	Position uint64           `json:"position"` // of the event that shows the finding
	Details  string           `json:"details"`
	// Log has the revisions in the log, and Readable those that readers get: "0-9", or "none".
	Log      string `json:"log,omitempty"`
	Readable string `json:"readable,omitempty"`
}

// newPrintedCuts returns the findings of a check, with the revisions that readers of the streams
// get.
func newPrintedCuts(
	ctx context.Context, store *eventstore.Store, streams *streamcheck.Check,
) (printedCuts, error) {
	cuts, more := streams.Cuts()
	view := printedCuts{
		Cuts: []printedCut{}, MoreCuts: more, Notices: append([]string{}, streams.Notices()...),
	}
	for i, cut := range cuts {
		line := printedCut{
			Kind: cut.Kind, Stream: cut.Stream, Position: cut.Position.Commit, Details: cut.Details,
		}
		if i < maxComparedStreams {
			line.Log = "none"
			if last := streams.Last(cut.Stream); last != eventstore.NoStream {
				line.Log = fmt.Sprintf("0-%d", last)
			}
			if cut.Kind == streamcheck.Missing {
				line.Log = "with gaps"
			}
			readable, err := readableRange(ctx, store, cut.Stream)
			if err != nil {
				return view, err
			}
			line.Readable = readable
		}
		view.Cuts = append(view.Cuts, line)
	}
	return view, nil
}

// readableRange returns the first and the last revision that readers of a stream get.
func readableRange(ctx context.Context, store *eventstore.Store, stream string) (string, error) {
	first, err := store.First(ctx, stream)
	if err == nil {
		var last eventstore.Recorded
		if last, err = store.Last(ctx, stream); err == nil {
			return fmt.Sprintf("%d-%d", first.Revision, last.Revision), nil
		}
	}
	if errors.Is(err, eventstore.ErrCut) || errors.Is(err, eventstore.ErrNotFound) {
		return "none", nil
	}
	if errors.Is(err, eventstore.ErrDenied) {
		return "denied", nil
	}
	return "", err
}

func (v printedCuts) print(w io.Writer) error {
	for _, stream := range v.Notices {
		if err := console.Printf(
			w, "stream %s sets who may read streams in general\n", stream,
		); err != nil {
			return err
		}
	}
	if len(v.Cuts) == 0 {
		return nil
	}
	rows := make([]console.Row, len(v.Cuts))
	for i, c := range v.Cuts {
		rows[i] = console.Row{
			c.Kind, c.Stream, c.Position, c.Log, c.Readable, c.Details,
		}
	}
	return console.Table(
		w, console.Row{"kind", "stream", "position", "in the log", "readable", "details"}, rows,
	)
}

// explain returns an error that summarizes the findings. It returns nil if there are none.
func (v printedCuts) explain() error {
	if len(v.Cuts) == 0 {
		return nil
	}
	seen := make(map[string]bool)
	var streams []string
	for _, c := range v.Cuts {
		if !seen[c.Stream] {
			seen[c.Stream] = true
			streams = append(streams, c.Stream)
		}
	}
	const most = 5
	named := strings.Join(streams[:min(most, len(streams))], ", ")
	if len(streams) > most || v.MoreCuts > 0 {
		named += ", …"
	}
	return fmt.Errorf("another program has changed streams in the event store, which hides or "+
		"damages history (%d findings): %s",
		int64(len(v.Cuts))+v.MoreCuts, named)
}
