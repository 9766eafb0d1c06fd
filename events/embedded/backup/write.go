package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Write makes a backup of the folder from, which does not change meanwhile, at the path to. The
// manifest m describes the folder, but does not list its files. Write returns m with its files.
//
// When the backup is complete and durable, it gets its name and replaces an earlier backup of that
// name. So the path always has one of the two, even if the process is killed.
//
// former is the path of an earlier backup, or empty. The new backup shares tables with it, and
// Write does not read these tables. The new backup also shares tables with the store if both are on
// the same disk.
func Write(ctx context.Context, from, to, former string, m Manifest) (Manifest, error) {
	draft, err := Begin(to)
	if err != nil {
		return m, err
	}
	defer draft.End()
	if err := checkReplaced(to, m); err != nil {
		return m, err
	}
	if m, err = WriteInto(ctx, from, draft.Path, former, m); err != nil {
		return m, fmt.Errorf("backup to %s: %w", to, err)
	}
	return m, draft.Finish()
}

// WriteInto is Write into an existing empty folder, which is part of a draft.
func WriteInto(ctx context.Context, from, folder, former string, m Manifest) (Manifest, error) {
	err := Gently(func() (err error) {
		m.Files, err = fill(ctx, from, folder, former)
		return err
	})
	if err != nil {
		return m, err
	}
	text, err := Encode(m)
	if err != nil {
		return m, err
	}
	return m, errors.Join(
		WriteFile(filepath.Join(folder, ManifestFile), text),
		WriteFile(filepath.Join(folder, FormatFile), []byte(FormatText)),
	)
}

// checkReplaced returns an error if a backup with the manifest m must not replace what is at the
// path to: a folder that is no readable backup, or a backup that CheckSuccessor protects.
func checkReplaced(to string, m Manifest) error {
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	former, err := Read(vfs.Default, to)
	switch {
	case errors.Is(err, ErrNone):
		return fmt.Errorf("%s %w and is no backup that could be replaced", to, fs.ErrExist)
	case err != nil:
		return fmt.Errorf("%s: %w: choose another folder", to, err)
	}
	return former.CheckSuccessor(to, m)
}

// CheckSuccessor returns an error if the backup newer must not replace the backup m at path,
// because newer is of another log, or of a log that has lost events.
func (m *Manifest) CheckSuccessor(path string, newer Manifest) error {
	switch {
	case m.Log != newer.Log:
		return fmt.Errorf("%s is a backup of another log: choose another folder", path)
	case m.Events > newer.Events:
		return fmt.Errorf(
			"the backup in %s has %d events, but the log has only %d: the log was restored from "+
				"an earlier backup, or cut. Choose another folder to keep this backup", path,
			m.Events, newer.Events,
		)
	}
	return nil
}

// fill copies the files of a folder to a draft and returns their list for the manifest.
func fill(ctx context.Context, from, draft, former string) ([]File, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	before := make(map[string]File)
	if former != "" {
		// If the former manifest cannot be read, no table is shared with the former backup.
		if m, err := Read(vfs.Default, former); err == nil {
			for _, f := range m.Files {
				before[f.Name] = f
			}
		}
	}
	files := make([]File, 0, len(entries))
	for _, e := range entries {
		if !e.Type().IsRegular() || foreign(e.Name()) || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		f, err := place(ctx, from, draft, former, before[e.Name()], e)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// place puts one file into the draft. If possible, it shares a table with the former backup, or
// else with the store. It copies all other files.
func place(
	ctx context.Context, from, draft, former string, before File, e fs.DirEntry,
) (File, error) {
	source, target := filepath.Join(from, e.Name()), filepath.Join(draft, e.Name())
	if !isTable(e.Name()) { // a store may change it
		return CopyFile(ctx, source, target)
	}
	info, err := e.Info()
	if err != nil {
		return File{}, err
	}
	f := File{Name: e.Name(), Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if before.Size == f.Size && before.Modified == f.Modified &&
		linked(filepath.Join(former, f.Name), target, f.Size) {
		return before, nil
	}
	if !linked(source, target, f.Size) {
		copied, err := CopyFile(ctx, source, target)
		copied.Modified = f.Modified
		return copied, err
	}
	file, err := os.Open(source)
	if err != nil {
		return f, err
	}
	f.SHA256, err = digestOf(ctx, file, nil)
	return f, errors.Join(err, file.Close())
}

// linked makes a hard link to a file. It reports whether the file is regular and has the given
// size, and the link was made.
func linked(from, to string, size int64) bool {
	info, err := os.Lstat(from)
	return err == nil && info.Mode().IsRegular() && info.Size() == size && os.Link(from, to) == nil
}

// WriteFile writes a new file and makes it durable.
func WriteFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
