package datafolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// runningFile is the name of the file with which operator commands reach the dev that runs on a
// data folder. The file has the password of the event store.
const runningFile = "running.json"

// Running has the connection strings of a running dev, and the address of its console.
type Running struct {
	EventStore secret.Connection `json:"eventstore"`
	Database   secret.Connection `json:"database"`
	Console    string            `json:"console"` // scheme and host
}

// Save writes the connection strings to a data folder, where FindRunning finds them.
func (r Running) Save(folder string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A file that a killed process left may be readable for other users.
	if err := RemoveRunning(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write to the data folder: %w", err)
	}
	if err := writeFile(filepath.Join(folder, runningFile), body); err != nil {
		return fmt.Errorf("cannot write to the data folder: %w", err)
	}
	return nil
}

// RemoveRunning removes the connection strings from a data folder.
func RemoveRunning(folder string) error { return os.Remove(filepath.Join(folder, runningFile)) }

// FindRunning returns the connection strings of the dev that runs on a data folder.
func FindRunning(folder string) (Running, error) {
	notRunning := usage.Errorf("no linkledger dev runs on %s: start one, name its folder with "+
		"--data (%s), or give --eventstore and --database",
		folder, usage.Env("data"))
	body, err := os.ReadFile(filepath.Join(folder, runningFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Running{}, notRunning
	}
	if err != nil {
		return Running{}, usage.Errorf(
			"cannot read the connection strings of linkledger dev: %w", err,
		)
	}
	var r Running
	if err := json.Unmarshal(body, &r); err != nil {
		return Running{}, usage.Errorf(
			"%s is damaged: %w; restart linkledger dev", filepath.Join(folder, runningFile), err,
		)
	}
	return r, nil
}
