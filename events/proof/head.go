package proof

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrNoKey means that what is given as a key is none that NewKey could have made.
var ErrNoKey = errors.New("no key for heads")

// ErrUnsigned means that a head is not signed with the key, or that it is none.
var ErrUnsigned = errors.New("no head that is signed with the key")

// Head commits to the first N events of the log, by their root hash.
type Head struct {
	tlog.Tree

	Signed string // the note, with the signature of the key alone
}

// NewKey makes a pair of keys. Names have neither spaces nor plus signs; that of an installation's
// host is a good one. Heads carry it.
func NewKey(name string) (private, public string, err error) {
	if name == "" || strings.ContainsAny(name, "+\r\n\t ") {
		return "", "", fmt.Errorf("%q is no name of a key: leave out spaces and plus signs", name)
	}
	return note.GenerateKey(rand.Reader, name)
}

// Sign signs a head with a private key. Errors: ErrNoKey.
func Sign(tree tlog.Tree, private string) (Head, error) {
	signer, err := note.NewSigner(private)
	if err != nil {
		return Head{}, fmt.Errorf("signing key: %w: %w", ErrNoKey, err)
	}
	signed, err := note.Sign(&note.Note{Text: headText(signer.Name(), tree)}, signer)
	if err != nil {
		return Head{}, fmt.Errorf("sign a head: %w", err)
	}
	return Head{tree, string(signed)}, nil
}

func headText(origin string, tree tlog.Tree) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, tree.N, tree.Hash)
}

// Heads reads the heads of a text, one after the other, as they were appended to a file. Each must
// be signed with the key; lines that other formats of heads add, and signatures of others, are
// passed over. Errors: ErrUnsigned and ErrNoKey.
func Heads(text []byte, public string) ([]Head, error) {
	verifier, err := note.NewVerifier(public)
	if err != nil {
		return nil, fmt.Errorf("public key: %w: %w", ErrNoKey, err)
	}
	var heads []Head
	for number := 1; ; number++ {
		var signed []byte
		if signed, text = cutNote(text); signed == nil {
			break
		}
		head, err := openHead(signed, verifier)
		if err != nil {
			return nil, fmt.Errorf("head %d: %w: %w", number, ErrUnsigned, err)
		}
		heads = append(heads, head)
	}
	if len(heads) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrUnsigned)
	}
	return heads, nil
}

// signature begins each line that ends a note.
var signature = []byte("— ")

// cutNote returns the first note, which ends with its last signature, and what follows; nil where
// there is nothing.
func cutNote(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, "\r\n")
	if len(text) == 0 {
		return nil, nil
	}
	end, signed := 0, false
	for line := range bytes.Lines(text) {
		if signed && !bytes.HasPrefix(line, signature) {
			break
		}
		signed = bytes.HasPrefix(line, signature)
		end += len(line)
	}
	return text[:end], text[end:]
}

func openHead(signed []byte, verifier note.Verifier) (Head, error) {
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return Head{}, err
	}
	lines := strings.SplitN(opened.Text, "\n", 4)
	if len(lines) < 4 || lines[0] != verifier.Name() {
		return Head{}, fmt.Errorf("it is none of %s", verifier.Name())
	}
	var tree tlog.Tree
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil || tree.N < 0 {
		return Head{}, fmt.Errorf("%q is no number of events", lines[1])
	}
	if tree.Hash, err = tlog.ParseHash(lines[2]); err != nil {
		return Head{}, fmt.Errorf("%q is no hash", lines[2])
	}
	kept, err := canonical(opened)
	return Head{tree, kept}, err
}
