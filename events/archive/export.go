package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

// Progress is called during an export. at is the position that was reached, head is where the
// export ends, and events is the number of events in the file.
type Progress func(at, head Position, events int64)

// Export writes one file.
type Export struct {
	store *eventstore.Store
	out   *bufio.Writer
	content
}

// Begin starts a file and writes its header. The export ends where the log ends now.
func Begin(
	ctx context.Context, store *eventstore.Store, out io.Writer, header Header,
) (*Export, error) {
	head, err := store.Head(ctx)
	if err != nil {
		return nil, err
	}
	header.Head = Position(head)
	e := &Export{
		store: store, out: bufio.NewWriterSize(out, 1<<20), content: content{header: header},
	}
	if e.line, err = appendMark(nil, header.Format, headerLine{Export: &header}); err != nil {
		return nil, err
	}
	if header.Format == CSV {
		e.line = append(e.line, columns+"\n"...)
	}
	_, err = e.out.Write(e.line)
	return e, errors.Join(err, e.out.Flush()) // from here on, the export can be resumed
}

// File is an interrupted export that Resume continues.
type File interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Resume continues an interrupted export after its last whole line. It returns ErrComplete or
// ErrDamaged if it cannot.
func Resume(store *eventstore.Store, file File) (*Export, error) {
	e := &Export{store: store, out: bufio.NewWriterSize(file, 1<<20)}
	if err := e.read(file); err != nil {
		return nil, err
	}
	if e.manifest != nil {
		return nil, ErrComplete
	}
	if e.header.Format == "" {
		return nil, fmt.Errorf("%w: it has no header, export again", ErrDamaged)
	}
	if err := file.Truncate(e.bytes); err != nil {
		return nil, err
	}
	if _, err := file.Seek(e.bytes, io.SeekStart); err != nil {
		return nil, err
	}
	if e.header.Format == CSV && !e.columns {
		_, err := e.out.WriteString(columns + "\n")
		return e, err
	}
	return e, nil
}

// Run writes the events and then the manifest, which it returns. If it fails, the file ends with
// whole lines and perhaps a partial one, and Resume can continue it. progress may be nil.
func (e *Export) Run(ctx context.Context, progress Progress) (Manifest, error) {
	wanted := e.selection()
	after := e.summary.Last
	if e.header.Account != "" {
		after = Position{} // read all, because the creation of a link names its account
	}
	from, upTo := eventstore.Position(after), eventstore.Position(e.header.Head)
	err := e.store.ReadLog(ctx, from, upTo, func(batch []eventstore.Recorded) error {
		for _, r := range batch {
			ok, err := wanted(r)
			if err != nil {
				return fmt.Errorf("event %d of %s: %w", r.Revision, r.Stream, err)
			}
			if !ok {
				continue
			}
			if err := e.write(r); err != nil {
				return err
			}
		}
		if progress != nil {
			progress(Position(batch[len(batch)-1].Position), e.header.Head, e.summary.Count)
		}
		return nil
	})
	if err != nil {
		return Manifest{}, errors.Join(err, e.out.Flush())
	}
	sum := e.computedManifest()
	e.line, err = appendMark(e.line[:0], e.header.Format, manifestLine{Manifest: &sum})
	if err != nil {
		return Manifest{}, err
	}
	_, err = e.out.Write(e.line)
	return sum, errors.Join(err, e.out.Flush())
}

// selection returns a function that reports whether an event belongs in the file and is not in it
// yet. The function MUST be called with the events of the log in their order.
func (e *Export) selection() func(eventstore.Recorded) (bool, error) {
	of := accountFilter{account: e.header.Account, links: make(map[uuid.UUID]struct{})}
	written, last := e.summary.Count > 0, e.summary.Last
	return func(r eventstore.Recorded) (bool, error) {
		if of.account != "" {
			if owned, err := of.matches(r); err != nil || !owned {
				return false, err
			}
		}
		return (!written || Position(r.Position).after(last)) && !r.Time.Before(e.header.From) &&
			(e.header.To.IsZero() || r.Time.Before(e.header.To)), nil
	}
}

func (e *Export) write(r eventstore.Recorded) error {
	e.line = leaf.Append(e.line[:0], r)
	if err := e.add(Position(r.Position), e.line); err != nil {
		return err
	}
	if e.header.Format == CSV {
		var err error
		if e.line, err = appendCSV(e.line[:0], r); err != nil {
			return err
		}
	}
	e.line = append(e.line, '\n')
	_, err := e.out.Write(e.line)
	return err
}
