package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// FormatFile is the file that says whether a folder is a store or a backup.
	FormatFile = "FORMAT"
	// FormatText is the content of FormatFile in a backup. FormatFile has other content in a store,
	// so that a backup without its manifest is not taken for a store.
	FormatText = "linkledger backup 1\n"
	// ManifestFile is the file with the manifest of a backup.
	ManifestFile = "BACKUP"

	lockFile    = "LOCK"
	tableSuffix = ".sst"
	folderMode  = 0o700 // other users of the machine must not read events
	fileMode    = 0o600
)

var (
	// ErrDamaged is wrapped by every error about a backup that is not as its manifest says. The
	// remedy is to use another backup.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNone means that a folder is no backup.
	ErrNone = errors.New("it is no backup")
)

// Manifest says what a backup must hold.
type Manifest struct {
	Version string    `json:"version"` // of the program
	Time    time.Time `json:"time"`
	Log     string    `json:"log"` // id of the first event
	Events  uint64    `json:"events"`
	Streams uint64    `json:"streams"`
	Head    uint64    `json:"position"` // position of the last event
	Files   []File    `json:"files"`
}

// File is a file of a backup.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Modified is when a table of the store was written, in nanoseconds since 1970. It is 0 for
	// other files. Two tables with the same name, size and time have the same content.
	Modified int64 `json:"modified,omitempty"`
}

// Encode returns two lines: a value as JSON, and the digest of the first line.
func Encode(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s\n%s\n", line, Digest(line)), nil
}

// Decode reads what Encode has written. It fails with ErrDamaged if a byte differs.
func Decode(text []byte, value any) error {
	line, digest, _ := bytes.Cut(text, []byte("\n"))
	if string(digest) != Digest(line)+"\n" {
		return fmt.Errorf("%w: its manifest is not complete", ErrDamaged)
	}
	if err := json.Unmarshal(line, value); err != nil {
		return fmt.Errorf("%w: its manifest: %w", ErrDamaged, err)
	}
	return nil
}

// Digest returns the SHA-256 of a text.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Read returns the manifest of the backup in a folder. It fails with ErrNone if the folder is no
// backup, and with ErrDamaged if its manifest cannot be read.
func Read(fsys vfs.FS, dir string) (*Manifest, error) {
	format, err := readFile(fsys, fsys.PathJoin(dir, FormatFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(format) != FormatText {
		if _, missing := fsys.Stat(fsys.PathJoin(dir, ManifestFile)); missing == nil && err != nil {
			return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, FormatFile)
		}
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	text, err := readFile(fsys, fsys.PathJoin(dir, ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: its manifest is missing", ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	return m, Decode(text, m)
}

// maxManifest bounds the size of a manifest. The entry of a file takes some 200 bytes.
const maxManifest = 256 << 20

func readFile(fsys vfs.FS, path string) (text []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxManifest))
}

// Compare compares the files of a folder with the manifest and returns the differences. A quick
// comparison checks only the size of tables, because each block of a table has its own checksum.
// It reads all other files, because they determine which tables the store reads.
func (m *Manifest) Compare(
	ctx context.Context, fsys vfs.FS, dir string, quick bool,
) (problems []string, err error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	expected := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		expected[f.Name] = true
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if !slices.Contains(names, f.Name) {
			problems = append(problems, f.Name+" is missing")
			continue
		}
		differs, err := f.differs(ctx, fsys, fsys.PathJoin(dir, f.Name), quick)
		if err != nil {
			return nil, err
		}
		if differs != "" {
			problems = append(problems, f.Name+" "+differs)
		}
	}
	for _, name := range names {
		if !expected[name] && !foreign(name) {
			problems = append(problems, name+" is not part of the backup")
		}
	}
	return problems, nil
}

// foreign reports whether a file of this name is never listed in a manifest.
func foreign(name string) bool {
	switch name {
	case FormatFile, ManifestFile, lockFile, "lost+found":
		return true
	}
	return false
}

// isTable reports whether a file is a table of Pebble. Tables never change.
func isTable(name string) bool { return strings.HasSuffix(name, tableSuffix) }

// differs returns what is wrong with a file, or an empty string.
func (f File) differs(
	ctx context.Context, fsys vfs.FS, path string, quick bool,
) (what string, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return "cannot be read: " + err.Error(), nil
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() != f.Size {
		return fmt.Sprintf("has %d bytes, not %d", info.Size(), f.Size), nil
	}
	if quick && isTable(f.Name) {
		return "", nil
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, reader{ctx, file}); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "cannot be read: " + err.Error(), nil
	}
	if hex.EncodeToString(digest.Sum(nil)) != f.SHA256 {
		return "has another content", nil
	}
	return "", nil
}

// reader is an io.Reader that fails when its context has ended.
type reader struct {
	ctx context.Context //nolint:containedctx // of one copy
	io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
