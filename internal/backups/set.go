package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/backup"
	"linkledger/internal/usage"
)

const (
	manifestFile = "MANIFEST"
	eventsFolder = "events"
	keysFolder   = "keys"
	folderMode   = 0o700
	// nameForm is the form of the name of a backup: its time in UTC. Names sort by time.
	nameForm = "20060102T150405.000Z"
	draft    = "next"
	outdated = "outdated.partial"
)

var setName = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z$`)

// ErrNoBackup means that a folder has no backup.
var ErrNoBackup = errors.New("there is no backup")

// Manifest says what a backup must hold, and to which log and version it belongs.
type Manifest struct {
	Version  string        `json:"version"` // of the program
	Time     time.Time     `json:"time"`
	Log      string        `json:"log"` // id of its first event
	Events   uint64        `json:"events"`
	Head     uint64        `json:"position"` // of the last event
	Sealed   bool          `json:"sealed"`   // the keys need the master key
	Files    []backup.File `json:"files"`    // of the keys, and what the log's own manifest lacks
	Duration time.Duration `json:"duration"` // of making it
}

// sets returns the paths of the backups in a folder, oldest first.
func sets(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() && setName.MatchString(e.Name()) {
			found = append(found, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(found)
	return found, nil
}

// read returns the manifest of a backup.
func read(set string) (*Manifest, error) {
	text, err := os.ReadFile(filepath.Join(set, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: its manifest is missing", set, backup.ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := backup.Decode(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", set, err)
	}
	return m, nil
}

// Newest returns the path and the manifest of the newest backup in a folder, or ErrNoBackup.
func Newest(folder string) (string, *Manifest, error) {
	found, err := sets(folder)
	if err != nil {
		return "", nil, err
	}
	if len(found) == 0 {
		return "", nil, fmt.Errorf("%w in %s", ErrNoBackup, folder)
	}
	newest := found[len(found)-1]
	m, err := read(newest)
	return newest, m, err
}

// find returns the backup at a path, or the newest backup if the path is a folder of backups. If
// the newest one is damaged, it returns an error: the caller must name an older backup.
func find(path string) (string, *Manifest, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", nil, usage.Wrap(err)
	}
	if _, err := os.Lstat(filepath.Join(path, manifestFile)); err == nil ||
		setName.MatchString(filepath.Base(path)) {
		m, err := read(path)
		return path, m, err
	}
	set, m, err := Newest(path)
	if errors.Is(err, backup.ErrDamaged) {
		return "", nil, fmt.Errorf("the newest backup cannot be restored: %w. Name an older one "+
			"in its place: %s holds them by their times", err, path)
	}
	return set, m, err
}

// filesOf returns the files that the manifest of a backup lists, relative to the backup. All other
// files of the backup are listed in the manifest of the log.
func filesOf(set string) ([]string, error) {
	names := []string{
		filepath.Join(eventsFolder, backup.FormatFile),
		filepath.Join(eventsFolder, backup.ManifestFile),
	}
	entries, err := os.ReadDir(filepath.Join(set, keysFolder))
	for _, e := range entries {
		names = append(names, filepath.Join(keysFolder, e.Name()))
	}
	return names, err
}

// describe returns the files of filesOf with their digests.
func describe(set string) ([]backup.File, error) {
	names, err := filesOf(set)
	if err != nil {
		return nil, err
	}
	files := make([]backup.File, len(names))
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(set, name))
		if err != nil {
			return nil, err
		}
		files[i] = backup.File{Name: name, Size: int64(len(text)), SHA256: backup.Digest(text)}
	}
	return files, nil
}

// check compares the files of a backup with its manifest. It returns the manifest of the log.
func (m *Manifest) check(ctx context.Context, set string) (*backup.Manifest, error) {
	there, err := describe(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", set, backup.ErrDamaged, err)
	}
	if !slices.Equal(there, m.Files) {
		for _, f := range m.Files {
			if !slices.Contains(there, f) {
				return nil, fmt.Errorf(
					"%s: %w: %s differs, or is missing", set, backup.ErrDamaged, f.Name,
				)
			}
		}
		return nil, fmt.Errorf("%s: %w: there are other files in keys", set, backup.ErrDamaged)
	}
	events := filepath.Join(set, eventsFolder)
	log, err := backup.Read(vfs.Default, events)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", events, err)
	}
	problems, err := log.Compare(ctx, vfs.Default, events, false)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %w: %s, and %d more", events, backup.ErrDamaged, problems[0],
			len(problems)-1)
	}
	if log.Events != m.Events || log.Head != m.Head || log.Log != m.Log {
		return nil, fmt.Errorf("%s: %w: its log belongs to another backup", set, backup.ErrDamaged)
	}
	return log, nil
}

// prune removes the oldest backups until keep are left. prune renames each backup before it removes
// it, so that a half removed backup is not taken for a whole one.
func prune(folder string, keep int) error {
	trash := filepath.Join(folder, outdated)
	if err := os.RemoveAll(trash); err != nil {
		return err
	}
	found, err := sets(folder)
	if err != nil {
		return err
	}
	for _, old := range found[:max(0, len(found)-keep)] {
		if err := errors.Join(os.Rename(old, trash), os.RemoveAll(trash)); err != nil {
			return err
		}
	}
	return nil
}
