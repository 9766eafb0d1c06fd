package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The types of this file are the fields of the --json output that the tests read.

type openedAccount struct {
	ID     string `json:"id"`
	APIKey string `json:"api_key"`
}

type listedPerson struct {
	ID      string `json:"id"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Mail    string `json:"mail"`
}

type listedMember struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Mail  string `json:"mail"`
	Role  string `json:"role"`
	Group string `json:"group"`
}

type projectionStatus struct {
	Name       string  `json:"name"`
	Generation int     `json:"generation"`
	Serving    bool    `json:"serving"`
	Position   uint64  `json:"position"`
	LagEvents  int     `json:"lag_events"`
	LagSeconds float64 `json:"lag_seconds"`
	State      string  `json:"state"`
	Owner      string  `json:"owner"`
	LastError  string  `json:"last_error"`
}

type storeStat struct {
	Running bool   `json:"running"`
	Events  uint64 `json:"events"`
	Head    uint64 `json:"head"`
}

type copiedLog struct {
	Events int64 `json:"events"`
	New    int64 `json:"new"`
}

// runningDev is the file in which operator commands find a running dev.
type runningDev struct {
	EventStore string `json:"eventstore"`
	Database   string `json:"database"`
}

// findRunning returns the addresses of the dev that runs on a data folder.
func findRunning(t *testing.T, folder string) (running runningDev) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(folder, "running.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &running); err != nil {
		t.Fatal(err)
	}
	return running
}
