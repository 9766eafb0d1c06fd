package attestation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/internal/console"
)

// maxComparedStreams bounds of how many streams that something hides the log and the readers' view are
// compared.
const maxComparedStreams = 100

// printedCuts is what keeps readers from events of the log, as it is printed.
type printedCuts struct {
	Cuts     []printedCut `json:"cuts"`
	MoreCuts int64        `json:"more_cuts"` // that are not in Cuts
	// Notices are streams of the event store that set the rights of readers in general.
	Notices []string `json:"notices"`
}

// printedCut is one stream of them.
type printedCut struct {
	Kind     proof.CutKind `json:"kind"`
	Stream   string        `json:"stream"`
	Position uint64        `json:"position"` // of the event that shows it
	Details  string        `json:"details"`
	// What the log has of the stream, and what a reader gets: "0-9", or "none".
	Log      string `json:"log,omitempty"`
	Readable string `json:"readable,omitempty"`
}

// newPrintedCuts asks the event store what readers get of the streams that something was found of.
func newPrintedCuts(
	ctx context.Context, store *eventstore.Store, streams *proof.Streams,
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
			if cut.Kind == proof.Missing {
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

// readableRange returns the first and the last revision that a reader of a stream gets.
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
		if _, err := fmt.Fprintf(
			w, "stream %s sets who may read streams in general\n", stream,
		); err != nil {
			return err
		}
	}
	if len(v.Cuts) == 0 {
		return nil
	}
	rows := make([]table.Row, len(v.Cuts))
	for i, c := range v.Cuts {
		rows[i] = table.Row{
			c.Kind, console.Printable(c.Stream), c.Position, c.Log, c.Readable, c.Details,
		}
	}
	return console.Table(
		w, table.Row{"kind", "stream", "position", "in the log", "readable", "details"}, rows,
	)
}

// explain says what was found.
func (v printedCuts) explain() error {
	if len(v.Cuts) == 0 {
		return nil
	}
	seen := make(map[string]bool)
	var streams []string
	for _, c := range v.Cuts {
		if !seen[c.Stream] {
			seen[c.Stream] = true
			streams = append(streams, console.Printable(c.Stream))
		}
	}
	const most = 5
	named := strings.Join(streams[:min(most, len(streams))], ", ")
	if len(streams) > most || v.MoreCuts > 0 {
		named += ", …"
	}
	return fmt.Errorf("somebody else has changed streams in the event store, which hides or "+
		"damages history (%d findings): %s",
		int64(len(v.Cuts))+v.MoreCuts, named)
}
