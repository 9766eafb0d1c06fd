package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrNoKey means that a string is not a key of the form that NewKey returns.
var ErrNoKey = errors.New("no key for heads")

// ErrUnsigned means that a text is not a head that is signed with the key.
var ErrUnsigned = errors.New("no head that is signed with the key")

// Head commits to the first N events of the log by their root hash.
type Head struct {
	tlog.Tree

	Signed string // the note, with the signature of one key only
}

// NewKey generates a key pair. The name MUST contain neither spaces nor plus signs; the host name
// of the installation is a good choice. Heads contain the name.
func NewKey(name string) (private, public string, err error) {
	if name == "" || strings.ContainsAny(name, "+\r\n\t ") {
		return "", "", fmt.Errorf("%q is no name of a key: leave out spaces and plus signs", name)
	}
	return note.GenerateKey(rand.Reader, name)
}

// PublicKey returns the public half of a private key. It returns ErrNoKey if private is not a
// signing key.
func PublicKey(private string) (string, error) {
	signer, err := note.NewSigner(private)
	if err != nil {
		return "", fmt.Errorf("signing key: %w: %w", ErrNoKey, err)
	}
	// The note package has no function for this. NewSigner has checked the form, which is
	// PRIVATE+KEY+name+hash+base64 of an algorithm byte and an Ed25519 seed.
	parts := strings.SplitN(private, "+", 5)
	seed, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", fmt.Errorf("signing key: %w", ErrNoKey)
	}
	public, _ := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	return note.NewEd25519VerifierKey(signer.Name(), public)
}

// Sign returns the head of a tree, signed with a private key. It returns ErrNoKey if private is not
// a signing key.
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

// Heads parses the concatenated heads of a file. It ignores extension lines of other formats and
// the signatures of other keys. It returns ErrUnsigned if there is no head or one is not signed
// with the key, and ErrNoKey if public is not a public key.
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

// signaturePrefix begins each signature line at the end of a note.
var signaturePrefix = []byte("— ")

// cutNote returns the first note, which ends with its last signature line, and the remaining text.
// It returns nil if there is no note.
func cutNote(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, "\r\n")
	if len(text) == 0 {
		return nil, nil
	}
	end, signed := 0, false
	for line := range bytes.Lines(text) {
		if signed && !bytes.HasPrefix(line, signaturePrefix) {
			break
		}
		signed = bytes.HasPrefix(line, signaturePrefix)
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
		return Head{}, fmt.Errorf("it is not a head of %s", verifier.Name())
	}
	var tree tlog.Tree
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil || tree.N < 0 {
		return Head{}, fmt.Errorf("%q is not a number of events", lines[1])
	}
	if tree.Hash, err = tlog.ParseHash(lines[2]); err != nil {
		return Head{}, fmt.Errorf("%q is not a hash", lines[2])
	}
	kept, err := canonical(opened)
	return Head{tree, kept}, err
}
