package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// runningFile tells operator commands how to reach the dev that runs on a data folder. It has the password of the event store.
const runningFile = "running.json"

// runningDev is the content of the file.
type runningDev struct {
	EventStore connection `json:"eventstore"`
	Database   connection `json:"database"`
}

func (r runningDev) save(folder string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// One that a killed process has left may be open to others.
	if err := removeRunning(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write to the data folder: %w", err)
	}
	if err := writeFile(filepath.Join(folder, runningFile), body); err != nil {
		return fmt.Errorf("cannot write to the data folder: %w", err)
	}
	return nil
}

func removeRunning(folder string) error { return os.Remove(filepath.Join(folder, runningFile)) }

// findRunning finds the dev that runs on a data folder.
func findRunning(folder string) (runningDev, error) {
	notRunning := usage("no linkledger dev runs on %s: start one, name its folder with --data (%s), or give --eventstore and --database",
		folder, envName("data"))
	body, err := os.ReadFile(filepath.Join(folder, runningFile))
	if errors.Is(err, fs.ErrNotExist) {
		return runningDev{}, notRunning
	}
	if err != nil {
		return runningDev{}, usage("cannot read how to reach linkledger dev: %w", err)
	}
	var r runningDev
	if err := json.Unmarshal(body, &r); err != nil {
		return runningDev{}, usage("%s is damaged: %w; restart linkledger dev", filepath.Join(folder, runningFile), err)
	}
	return r, nil
}
