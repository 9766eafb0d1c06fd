package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

// maxLine is the maximum length of a line of a file of proofs. The line of the largest event, in
// base64, is far shorter.
const maxLine = 64 << 20

// ErrUnproven means that a file does not prove its claims. The error names the line or event, and
// the reason.
var ErrUnproven = errors.New("the proof does not hold")

// Writer writes a file of proofs that are verified with one head.
type Writer struct {
	out  *bufio.Writer
	head Head
	tree tlog.HashReader
	line []byte
}

// headLine is the first line of a file.
type headLine struct {
	Checkpoint string `json:"checkpoint"` // the signed head
}

// sinceLine proves that the tree extends the tree of an earlier head.
type sinceLine struct {
	Since string         `json:"since"` // the signed head of an earlier tree
	Proof tlog.TreeProof `json:"proof"` // consistency proof from Since to the head
}

// eventLine proves that the tree contains an event.
type eventLine struct {
	Index int64            `json:"index"`
	Proof tlog.RecordProof `json:"proof"`
	Event json.RawMessage  `json:"event"` // the leaf, byte for byte
}

// NewWriter starts a file with its head. The tree need not be trusted, because each proof is
// checked against the head before it is written.
func NewWriter(out io.Writer, head Head, tree tlog.HashReader) (*Writer, error) {
	w := &Writer{out: bufio.NewWriter(out), head: head, tree: tree}
	return w, w.write(headLine{head.Signed})
}

func (w *Writer) write(line any) error {
	body, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(body, '\n'))
	return err
}

// Close writes the buffered lines. It does not close the underlying writer.
func (w *Writer) Close() error { return w.out.Flush() }

// Since writes a proof that the tree of the head extends the tree of an older head. The proof shows
// that no event of the older tree was altered since the older head was signed. Since returns
// ErrUnproven if the tree does not extend the older one, or an error of the tree.
func (w *Writer) Since(older Head) error {
	if older.N > w.head.N {
		return fmt.Errorf(
			"%w: the head of %d events is newer than the head of %d",
			ErrUnproven, older.N, w.head.N,
		)
	}
	line := sinceLine{Since: older.Signed, Proof: tlog.TreeProof{}}
	if older.N > 0 { // every tree extends the empty tree
		var err error
		if line.Proof, err = tlog.ProveTree(w.head.N, older.N, w.tree); err != nil {
			return fmt.Errorf("the tree of %d events: %w", older.N, err)
		}
	}
	if err := line.check(w.head, older); err != nil {
		return err
	}
	return w.write(line)
}

func (l sinceLine) check(head, older Head) error {
	if older.N == 0 {
		if l.Proof == nil || len(l.Proof) > 0 {
			return fmt.Errorf("%w: %w", ErrUnproven, leaf.ErrNotCanonical)
		}
		return nil
	}
	if err := tlog.CheckTree(l.Proof, head.N, head.Hash, older.N, older.Hash); err != nil {
		return fmt.Errorf(
			"%w: the tree of %d events does not continue the tree of %d: %w", ErrUnproven, head.N,
			older.N, err,
		)
	}
	return nil
}

// Event writes a proof that r is the leaf at index, counted from 0. It returns ErrUnproven if r is
// not that leaf, or an error of the tree.
func (w *Writer) Event(r eventstore.Recorded, index int64) error {
	if index < 0 || index >= w.head.N {
		return fmt.Errorf(
			"event at position %s: %w: the tree has no leaf %d", r.Position, ErrUnproven, index,
		)
	}
	w.line = leaf.Append(w.line[:0], r)
	found, err := tlog.ProveRecord(w.head.N, index, w.tree)
	if err != nil {
		return fmt.Errorf("event at position %s: %w", r.Position, err)
	}
	if err := tlog.CheckRecord(
		found, w.head.N, w.head.Hash, index, tlog.RecordHash(w.line),
	); err != nil {
		return fmt.Errorf("event at position %s: %w: %w", r.Position, ErrUnproven, err)
	}
	line, err := eventLine{index, found, w.line}.append(nil)
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(line, '\n'))
	return err
}

// append appends the line without its end. It writes exactly the bytes of the event that are
// hashed, which json.Marshal does not guarantee.
func (l eventLine) append(line []byte) ([]byte, error) {
	proof, err := json.Marshal(l.Proof)
	return fmt.Appendf(line, `{"index":%d,"proof":%s,"event":%s}`, l.Index, proof, l.Event), err
}

// Proven is what a file proves.
type Proven struct {
	Head   Head
	Since  []Head // older heads whose trees the tree of Head extends
	Events []Event
}

// Event is an event of a file of proofs, as it was stored.
type Event struct {
	eventstore.Recorded

	Index int64 // in the log, counted from 0
}

// Check reads a file of proofs and verifies all of it with the public key. It accepts only what a
// Writer writes, byte for byte, so that no other reader of the file can find something in it that
// was not verified. It returns ErrUnsigned, ErrUnproven, or an error of the reader.
func Check(file io.Reader, public string) (Proven, error) {
	var proven Proven
	read, err := readLines(
		file, func(number int, line []byte) error { return proven.addLine(number, line, public) },
	)
	if err != nil {
		return Proven{}, err
	}
	if read == 0 {
		return Proven{}, fmt.Errorf("%w: the file is empty", ErrUnproven)
	}
	return proven, nil
}

func (p *Proven) addLine(number int, line []byte, public string) error {
	switch {
	case number == 1:
		return p.addHead(line, public)
	case bytes.HasPrefix(line, []byte(`{"since":`)):
		return p.addSince(line, public)
	}
	return p.addEvent(line)
}

func (p *Proven) addHead(line []byte, public string) (err error) {
	var read headLine
	if err := unmarshalCanonical(line, &read); err != nil {
		return fmt.Errorf("%w: this is no head: %w", ErrUnproven, err)
	}
	p.Head, err = singleHead(read.Checkpoint, public)
	return err
}

func (p *Proven) addSince(line []byte, public string) error {
	var read sinceLine
	if err := unmarshalCanonical(line, &read); err != nil {
		return fmt.Errorf("%w: this is no older head: %w", ErrUnproven, err)
	}
	if len(p.Events) > 0 {
		return fmt.Errorf("%w: older heads come before the events", ErrUnproven)
	}
	older, err := singleHead(read.Since, public)
	if err != nil {
		return err
	}
	p.Since = append(p.Since, older)
	return read.check(p.Head, older)
}

// singleHead parses a text that is exactly one head.
func singleHead(text, public string) (Head, error) {
	heads, err := Heads([]byte(text), public)
	if err != nil {
		return Head{}, err
	}
	if len(heads) != 1 || heads[0].Signed != text {
		return Head{}, fmt.Errorf(
			"%w: the head has more than the signature of the key: %w",
			ErrUnproven, leaf.ErrNotCanonical,
		)
	}
	return heads[0], nil
}

func (p *Proven) addEvent(line []byte) error {
	var read eventLine
	if err := json.Unmarshal(line, &read); err != nil {
		return fmt.Errorf("%w: this is no line of proofs: %w", ErrUnproven, err)
	}
	written, err := read.append(nil)
	if err == nil && (read.Proof == nil || !bytes.Equal(written, line)) {
		err = leaf.ErrNotCanonical
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if err := tlog.CheckRecord(
		read.Proof, p.Head.N, p.Head.Hash, read.Index, tlog.RecordHash(read.Event),
	); err != nil {
		return fmt.Errorf("%w: the event is not in the tree: %w", ErrUnproven, err)
	}
	if n := len(p.Events); n > 0 && p.Events[n-1].Index >= read.Index {
		return fmt.Errorf(
			"%w: event %d does not come after event %d", ErrUnproven, read.Index,
			p.Events[n-1].Index,
		)
	}
	recorded, err := leaf.Parse(read.Event)
	if err != nil {
		return fmt.Errorf("%w: event %d: %w", ErrUnproven, read.Index, err)
	}
	p.Events = append(p.Events, Event{recorded, read.Index})
	return nil
}
