package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
)

// Progress is told while an export goes on.
type Progress func(at, head Position, events int64)

// Export is the writing of one file.
type Export struct {
	store *eventstore.Store
	out   *bufio.Writer
	content
}

// Begin begins a file with its header. The log is exported up to where it ends now.
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
	return e, errors.Join(err, e.out.Flush()) // whatever happens from here on can be resumed
}

// File is a file that Resume goes on with.
type File interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Resume goes on with a file whose export was interrupted, behind its last whole line. It refuses
// with ErrComplete and ErrDamaged.
func Resume(store *eventstore.Store, file File) (*Export, error) {
	e := &Export{store: store, out: bufio.NewWriterSize(file, 1<<20)}
	if err := e.read(file); err != nil {
		return nil, err
	}
	if e.manifest != nil {
		return nil, ErrComplete
	}
	if e.header.Format == "" {
		return nil, fmt.Errorf("%w: not even its header was written, begin anew", ErrDamaged)
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

// Run writes the events and then the manifest, which it returns. When it fails, whole lines were
// written and perhaps a part of one more, and Resume can go on. progress may be nil.
func (e *Export) Run(ctx context.Context, progress Progress) (Manifest, error) {
	wanted := e.selection()
	behind := e.sum.Last
	if e.header.Account != "" {
		behind = Position{} // which links are the account's is told by events from the start on
	}
	err := e.store.ReadLog(ctx, eventstore.Position(
		behind,
	), eventstore.Position(e.header.Head), func(batch []eventstore.Recorded) error {
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
			progress(Position(batch[len(batch)-1].Position), e.header.Head, e.sum.Count)
		}
		return nil
	})
	if err != nil {
		return Manifest{}, errors.Join(err, e.out.Flush())
	}
	sum := e.summary()
	if e.line, err = appendMark(
		e.line[:0], e.header.Format, manifestLine{Manifest: &sum},
	); err != nil {
		return Manifest{}, err
	}
	_, err = e.out.Write(e.line)
	return sum, errors.Join(err, e.out.Flush())
}

// selection tells which events belong into the file and are not in it yet.
func (e *Export) selection() func(eventstore.Recorded) (bool, error) {
	of := owner{account: e.header.Account, links: make(map[uuid.UUID]struct{})}
	written, last := e.sum.Count > 0, e.sum.Last
	return func(r eventstore.Recorded) (bool, error) {
		if of.account != "" {
			if owned, err := of.owns(r); err != nil || !owned {
				return false, err
			}
		}
		return (!written || Position(r.Position).after(last)) && !r.Time.Before(e.header.From) &&
			(e.header.To.IsZero() || r.Time.Before(e.header.To)), nil
	}
}

func (e *Export) write(r eventstore.Recorded) error {
	e.line = proof.AppendLine(e.line[:0], r)
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
