package proof

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/eventstore"
)

// maxLine bounds what is read as one line of a file of proofs; the largest event in base64 is well below.
const maxLine = 64 << 20

// ErrUnproven means that a file does not prove what it says; the error says where and why.
var ErrUnproven = errors.New("the proof does not hold")

// Writer writes a file of proofs that rest on one head.
type Writer struct {
	out  *bufio.Writer
	head Head
	tree tlog.HashReader
	line []byte
}

// headLine and sinceLine are lines of a file.
type headLine struct {
	Checkpoint string `json:"checkpoint"` // the signed head
}

type sinceLine struct {
	Since string         `json:"since"` // the signed head of an earlier tree
	Proof tlog.TreeProof `json:"proof"` // that the tree is that one with events behind it
}

// NewWriter begins a file with its head. The hashes of the tree may come from anywhere: each proof is checked against the
// head before it is written.
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

// Close writes what is still to be written.
func (w *Writer) Close() error { return w.out.Flush() }

// Since proves that the head's tree goes on from the tree of an older head: nothing up to there was altered in between.
// It fails with ErrUnproven where it does not.
func (w *Writer) Since(older Head) error {
	if older.N > w.head.N {
		return fmt.Errorf("%w: the head of %d events is newer than that of %d", ErrUnproven, older.N, w.head.N)
	}
	line := sinceLine{Since: older.Signed, Proof: tlog.TreeProof{}}
	if older.N > 0 { // every tree goes on from the empty one
		var err error
		if line.Proof, err = tlog.ProveTree(w.head.N, older.N, w.tree); err != nil {
			return fmt.Errorf("%w: %w", ErrUnproven, err)
		}
	}
	if err := line.check(w.head, older); err != nil {
		return err
	}
	return w.write(line)
}

func (l sinceLine) check(head, older Head) error {
	if older.N == 0 {
		return nil
	}
	if err := tlog.CheckTree(l.Proof, head.N, head.Hash, older.N, older.Hash); err != nil {
		return fmt.Errorf("%w: the tree of %d events does not go on from that of %d: %w", ErrUnproven, head.N, older.N, err)
	}
	return nil
}

// Event proves that the tree has an event as the leaf with that index, from 0. It fails with ErrUnproven where it has not.
func (w *Writer) Event(r eventstore.Recorded, index int64) error {
	w.line = AppendLine(w.line[:0], r)
	found, err := tlog.ProveRecord(w.head.N, index, w.tree)
	if err == nil {
		err = tlog.CheckRecord(found, w.head.N, w.head.Hash, index, tlog.RecordHash(w.line))
	}
	if err != nil {
		return fmt.Errorf("event at position %s: %w: %w", r.Position, ErrUnproven, err)
	}
	proof, err := json.Marshal(found)
	if err != nil {
		return err
	}
	// The event must stay byte for byte what is hashed, which json.Marshal does not promise.
	_, err = fmt.Fprintf(w.out, `{"index":%d,"proof":%s,"event":%s}`+"\n", index, proof, w.line)
	return err
}

// Proven is what a file proves.
type Proven struct {
	Head   Head
	Since  []Head // older ones that the head's tree goes on from
	Events []Event
}

// Event is an event as a line of an export tells it, without what was stored of it.
type Event struct {
	Index    int64 `json:"-"` // in the log, from 0
	Position struct {
		Commit uint64 `json:"commit"`
	} `json:"position"`
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
}

// Check reads a file of proofs and verifies all of it with the public key. Errors: ErrUnsigned, ErrUnproven, and those of
// the reader.
func Check(file io.Reader, public string) (Proven, error) {
	var proven Proven
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	number := 1
	for ; lines.Scan(); number++ {
		if err := proven.line(number, lines.Bytes(), public); err != nil {
			return Proven{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Proven{}, fmt.Errorf("line %d: %w", number, err)
	}
	if number == 1 {
		return Proven{}, fmt.Errorf("%w: the file is empty", ErrUnproven)
	}
	return proven, nil
}

func (p *Proven) line(number int, line []byte, public string) (err error) {
	var read struct {
		Checkpoint, Since string
		Index             int64
		Proof             []tlog.Hash
		Event             json.RawMessage // byte for byte
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return fmt.Errorf("%w: this is no line of proofs: %w", ErrUnproven, err)
	}
	switch {
	case number == 1:
		p.Head, err = onlyHead(read.Checkpoint, public)
		return err
	case read.Since != "":
		older, err := onlyHead(read.Since, public)
		if err != nil {
			return err
		}
		p.Since = append(p.Since, older)
		return sinceLine{read.Since, read.Proof}.check(p.Head, older)
	}
	return p.event(read.Index, read.Event, read.Proof)
}

// onlyHead reads the one head of a text.
func onlyHead(text, public string) (Head, error) {
	heads, err := Heads([]byte(text), public)
	if err != nil {
		return Head{}, err
	}
	return heads[0], nil
}

func (p *Proven) event(index int64, line []byte, proof tlog.RecordProof) error {
	if err := tlog.CheckRecord(proof, p.Head.N, p.Head.Hash, index, tlog.RecordHash(line)); err != nil {
		return fmt.Errorf("%w: the event is not in the tree: %w", ErrUnproven, err)
	}
	event := Event{Index: index}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	p.Events = append(p.Events, event)
	return nil
}
