package keyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoCopy means that a folder has no complete copy of the keys.
var ErrNoCopy = errors.New("there is no complete copy of the keys")

// ErrNewerCopy means that a newer version of the program has written a file of the copy.
var ErrNewerCopy = errors.New("it was written by a newer version of Linkledger: start that " +
	"version or a later one")

// copyFormat is the version of the format of the files. A program refuses a file of a later
// version.
const copyFormat = 1

// Copy is a copy of the schema linkledger_durable: files that are sealed with the master key, each
// with the rows of a table as JSON. Any version of PostgreSQL can read them.
type Copy struct {
	folder string
	master *MasterKey
	plain  bool // an export without a master key: its files are not sealed
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

// Folder returns the folder of the copy.
func (c *Copy) Folder() string { return c.folder }

// Check returns ErrNoCopy if the folder has no complete copy, ErrNoMasterKey or ErrOtherMasterKey
// if the master key does not open it, and other errors if it cannot be read.
func (c *Copy) Check() error {
	_, err := c.ReadAll()
	return err
}

// fileLabel returns the label that binds a sealed text to its file. No id of an account is such a
// label, so the sealed text of a file is never taken for the key of an account. The label has the
// former name of the schema, so that earlier copies can be read.
func fileLabel(name string) string { return "copy of linkledger_keys\n" + name }

// Names of the tables of the schema. The names of the files begin with them.
const (
	AccountKeys = "account_keys"
	Sessions    = "sessions"
	SignInLinks = "sign_in_links"
	Secrets     = "secrets"
	KeyUses     = "key_uses"
	SignOuts    = "issuer_sign_outs"
	Discarded   = "discarded_events"
	Judgements  = "judgements"
)

const (
	// completeFile is written once the copy has everything. It lists the tables.
	completeFile = "complete"
	shardsFile   = "shards" // lists the files of account_keys
	// signingKey is the file with the key that signs the heads of the tree over the log. No table
	// has this key.
	signingKey = "signing_key"
)

// WholeTables returns the tables with one file each. account_keys has many files, see ShardOf,
// because one file with a row for each account would take long to write.
func WholeTables() []string {
	return []string{Secrets, Sessions, SignInLinks, KeyUses, SignOuts, Discarded, Judgements}
}

// ShardOf returns the file of the key of an account. The last digits of the id choose the file,
// because they are random. The first digits are a time.
func ShardOf(account string) string {
	return AccountKeys + "." + strings.ToLower(account[max(0, len(account)-2):])
}

// Rows are the rows of one file.
type Rows struct {
	Table string
	Rows  []string
}

// ReadAll returns the content of all files of a complete copy.
func (c *Copy) ReadAll() ([]Rows, error) {
	complete, err := c.Read(completeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoCopy, c.folder)
	}
	if err != nil {
		return nil, err
	}
	var all []Rows
	for _, quoted := range complete {
		var table string
		if err := json.Unmarshal([]byte(quoted), &table); err != nil {
			return nil, fmt.Errorf("%s in the copy of the keys: %w", completeFile, err)
		}
		names := []string{table}
		if table == AccountKeys {
			if names, err = c.allShards(); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			rows, err := c.Read(name)
			if err != nil {
				return nil, err
			}
			all = append(all, Rows{Table: table, Rows: rows})
		}
	}
	return all, nil
}

// Shards returns the names of the files of account_keys, or nil if the folder does not exist.
func (c *Copy) Shards() ([]string, error) {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the copy of the keys: %w", err)
	}
	var names []string
	for _, e := range entries {
		if shard, ok := strings.CutPrefix(e.Name(), AccountKeys+"."); ok && len(shard) == 2 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// allShards returns the names of the files of account_keys. Files that were written but are lost
// are among them, so that the caller notices the loss.
func (c *Copy) allShards() ([]string, error) {
	names, err := c.Shards()
	if err != nil {
		return nil, err
	}
	listed, err := c.Read(shardsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // an older copy has no list
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

// ListShards writes which files account_keys has. A file is written before it is listed. If a
// process is killed in between, it has not committed the key in the file, so nothing is lost.
func (c *Copy) ListShards() error {
	names, err := c.Shards()
	if err != nil {
		return err
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	return c.Replace(shardsFile, quoted)
}

// Read returns the rows of a file. It fails with fs.ErrNotExist if the file does not exist.
func (c *Copy) Read(name string) ([]string, error) {
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
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if file.Format > copyFormat {
		return nil, ErrNewerCopy
	}
	text, err := file.Sealed, error(nil)
	if !c.plain || file.Master != "" {
		text, err = c.master.open(fileLabel(name), file.Master, file.Sealed)
	}
	if err != nil {
		return nil, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = string(row)
	}
	return texts, nil
}

// Replace writes rows to a file, unless the file has the same rows. The change is durable after the
// next Sync.
func (c *Copy) Replace(name string, rows []string) error {
	if c.master == nil && !c.plain {
		return ErrNoMasterKey
	}
	slices.Sort(rows)
	now, err := c.Read(name)
	if errors.Is(err, ErrNewerCopy) || err == nil && slices.Equal(now, rows) {
		return err
	}
	form := copyFile{Format: copyFormat, Sealed: []byte("[" + strings.Join(rows, ",") + "]")}
	if c.master != nil {
		form.Master, form.Sealed = c.master.name, c.master.Wrap(fileLabel(name), form.Sealed)
	}
	content, err := json.Marshal(form)
	if err != nil {
		return err
	}
	if err := os.Mkdir(c.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// The temporary file always has the same name, so the next write replaces a file that a killed
	// process has left. Otherwise that file might keep a key that is erased later. Only the process
	// that holds the copyLock of package keystore writes, so no two processes write the file at
	// once.
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

// Finish marks the copy as complete.
func (c *Copy) Finish() error {
	if err := errors.Join(c.ListShards(), c.Sync()); err != nil {
		return err
	}
	var tables []string
	for _, table := range append([]string{AccountKeys}, WholeTables()...) {
		tables = append(tables, `"`+table+`"`)
	}
	if err := c.Replace(completeFile, tables); err != nil {
		return err
	}
	return c.Sync()
}

// Has reports whether the copy has a file.
func (c *Copy) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(c.folder, name))
	return err == nil
}

// Sync makes the names of the files durable, even names that a killed process has changed.
func (c *Copy) Sync() error {
	folder, err := os.Open(c.folder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// KeyRow is the part of a row of account_keys that a copy reads.
type KeyRow struct {
	Account string  `json:"account_id"`
	Wrapped *string `json:"wrapped"` // nil: erased
}

// ParseKey returns the KeyRow of a row.
func ParseKey(row string) (key KeyRow, err error) {
	err = json.Unmarshal([]byte(row), &key)
	return key, err
}

// Restored counts what was restored from a copy.
type Restored struct {
	Keys     int // of accounts and people, also erased ones
	Sessions int
}

// NewExport returns an empty copy in a folder, for keystore.Keys.Export. If master is nil, its
// files are not sealed.
func NewExport(folder string, master *MasterKey) *Copy {
	return &Copy{folder: folder, master: master, plain: master == nil}
}

// OpenExport returns the copy in a folder that keystore.Keys.Export has written.
func OpenExport(folder string, master *MasterKey) *Copy { return NewExport(folder, master) }

// SetSigningKey adds the key that signs the heads of the tree over the log to an export. quoted is
// the key as a JSON string.
func (c *Copy) SetSigningKey(quoted string) error { return c.Replace(signingKey, []string{quoted}) }

// SigningKey returns the text that SetSigningKey has stored, or an empty one if there is none.
func (c *Copy) SigningKey() (string, error) {
	if !c.Has(signingKey) {
		return "", nil
	}
	rows, err := c.Read(signingKey)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 {
		return "", fmt.Errorf("%w: %s has %d rows", ErrDamaged, signingKey, len(rows))
	}
	return rows[0], nil
}

// CopyTo writes the content of an export to another copy, in the form that linkledger dev keeps.
// The files are sealed with the master key of that copy.
func (c *Copy) CopyTo(to *Copy) (restored Restored, err error) {
	content, err := c.ReadAll()
	if err != nil {
		return restored, err
	}
	shards := make(map[string][]string)
	for _, file := range content {
		if file.Table != AccountKeys {
			if err := to.Replace(file.Table, file.Rows); err != nil {
				return restored, err
			}
		}
		switch file.Table {
		case AccountKeys:
			restored.Keys += len(file.Rows)
		case Sessions:
			restored.Sessions += len(file.Rows)
		}
		for _, row := range file.Rows {
			if file.Table != AccountKeys {
				break
			}
			key, err := ParseKey(row)
			if err != nil {
				return restored, err
			}
			shards[ShardOf(key.Account)] = append(shards[ShardOf(key.Account)], row)
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		if err := to.Replace(shard, shards[shard]); err != nil {
			return restored, err
		}
	}
	return restored, to.Finish()
}
