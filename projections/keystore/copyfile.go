package keystore

// The files of the copy.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoCopy means that a folder has no complete copy of the keys.
var ErrNoCopy = errors.New("there is no complete copy of the keys")

// errNewerCopy means that a newer version of the program has written a file of the copy.
var errNewerCopy = errors.New("it was written by a newer version of Linkledger: start that " +
	"version or a later one")

// copyFormat is the form of the files. A program refuses a later one.
const copyFormat = 1

// Copy is a copy of the schema linkledger_keys: files that are sealed with the master key, each
// with the rows of a table as JSON. Any version of PostgreSQL can read them.
type Copy struct {
	folder string
	master *MasterKey
	plain  bool // without a master key the files are not sealed
}

// copyFile is the form of a file.
type copyFile struct {
	Format int    `json:"format"`
	Master string `json:"master"` // name of the master key
	Sealed []byte `json:"sealed"` // rows as a JSON list, bound to the name of the file
}

// OpenCopy returns the copy in a folder.
func OpenCopy(folder string, master *MasterKey) *Copy {
	return &Copy{folder: folder, master: master}
}

// Check returns ErrNoCopy if the folder has no complete copy, ErrNoMasterKey or ErrOtherMasterKey
// if the master key does not open it, and other errors if it cannot be read.
func (c *Copy) Check() error {
	_, err := c.readAll()
	return err
}

// label binds a sealed text to its file. No account has such an id.
func label(name string) string { return "copy of linkledger_keys\n" + name }

// tableRows are the rows of one file.
type tableRows struct {
	table string
	rows  []string
}

// readAll returns the content of all files of a complete copy.
func (c *Copy) readAll() ([]tableRows, error) {
	complete, err := c.read(completeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoCopy, c.folder)
	}
	if err != nil {
		return nil, err
	}
	var all []tableRows
	for _, quoted := range complete {
		var table string
		if err := json.Unmarshal([]byte(quoted), &table); err != nil {
			return nil, fmt.Errorf("%s in the copy of the keys: %w", completeFile, err)
		}
		names := []string{table}
		if table == accountKeys {
			if names, err = c.allShards(); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			rows, err := c.read(name)
			if err != nil {
				return nil, err
			}
			all = append(all, tableRows{table: table, rows: rows})
		}
	}
	return all, nil
}

// shards returns the names of the files of account_keys.
func (c *Copy) shards() ([]string, error) {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the copy of the keys: %w", err)
	}
	var names []string
	for _, e := range entries {
		if shard, ok := strings.CutPrefix(e.Name(), accountKeys+"."); ok && len(shard) == 2 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// allShards returns the names of the files of account_keys: those that are there, and those that
// were there once, which the caller then misses.
func (c *Copy) allShards() ([]string, error) {
	names, err := c.shards()
	if err != nil {
		return nil, err
	}
	listed, err := c.read(shardsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a copy of before has no list
		return nil, err
	}
	for _, quoted := range listed {
		var name string
		if err := json.Unmarshal([]byte(quoted), &name); err != nil {
			return nil, fmt.Errorf("%s in the copy of the keys: %w", shardsFile, err)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// listShards writes which files account_keys has. A file is there before it is listed: a process
// that is killed in between has not committed the key.
func (c *Copy) listShards() error {
	names, err := c.shards()
	if err != nil {
		return err
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	return c.replace(shardsFile, quoted)
}

// read returns the rows of a file.
func (c *Copy) read(name string) ([]string, error) {
	path := filepath.Join(c.folder, name)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the copy of the keys: %w", err)
	}
	rows, err := c.open(name, content)
	if err != nil {
		return nil, fmt.Errorf("read the copy of the keys in %s: %w", path, err)
	}
	return rows, nil
}

// open returns the rows in the content of a file.
func (c *Copy) open(name string, content []byte) ([]string, error) {
	var file copyFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if file.Format > copyFormat {
		return nil, errNewerCopy
	}
	text, err := file.Sealed, error(nil)
	if !c.plain || file.Master != "" {
		text, err = c.master.open(label(name), file.Master, file.Sealed)
	}
	if err != nil {
		return nil, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = string(row)
	}
	return texts, nil
}

// replace writes the rows of a file unless it has them. sync makes that durable.
func (c *Copy) replace(name string, rows []string) error {
	if c.master == nil && !c.plain {
		return ErrNoMasterKey
	}
	slices.Sort(rows)
	now, err := c.read(name)
	if errors.Is(err, errNewerCopy) || err == nil && slices.Equal(now, rows) {
		return err
	}
	form := copyFile{Format: copyFormat, Sealed: []byte("[" + strings.Join(rows, ",") + "]")}
	if c.master != nil {
		form.Master, form.Sealed = c.master.name, c.master.wrap(label(name), form.Sealed)
	}
	content, err := json.Marshal(form)
	if err != nil {
		return err
	}
	if err := os.Mkdir(c.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// The name is always the same, so that a file that a killed process left does not stay: it may
	// have a key that is erased later. Only the holder of the lock writes.
	path := filepath.Join(c.folder, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// finish notes that the copy is complete.
func (c *Copy) finish() error {
	if err := errors.Join(c.listShards(), c.sync()); err != nil {
		return err
	}
	var tables []string
	for _, table := range append([]string{accountKeys}, wholeTables...) {
		tables = append(tables, `"`+table+`"`)
	}
	if err := c.replace(completeFile, tables); err != nil {
		return err
	}
	return c.sync()
}

// has reports whether the copy has a file.
func (c *Copy) has(name string) bool {
	_, err := os.Lstat(filepath.Join(c.folder, name))
	return err == nil
}

// sync makes the names of the files durable, also those that a killed process has changed.
func (c *Copy) sync() error {
	folder, err := os.Open(c.folder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
