// This file has the commands of operators, and the fields of their --json output that tests read.

package e2etest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Must runs a command that needs no installation, and fails the test if the command fails.
func Must(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := Command(t, args...)
	if code != 0 {
		t.Fatalf("%v: %d, %s%s", args, code, out, log)
	}
	return out
}

// Operator runs an operator command on a data folder and returns its output.
func Operator(t *testing.T, folder string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Program, append(args, "--data", folder)...).CombinedOutput()
	if err != nil {
		t.Fatalf("linkledger %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// AwaitProjection waits until the status of a projection meets a condition.
func AwaitProjection(t *testing.T, folder, name string, is func(ProjectionStatus) bool) {
	t.Helper()
	deadline := time.Now().Add(StartTimeout)
	for {
		var views []ProjectionStatus
		if err := json.Unmarshal([]byte(Operator(t, folder, "projections", "status", "--json")), &views); err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			if v.Name == name && is(v) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no such status of %s in %+v", name, views)
		}
	}
}

// OpenedAccount is what account create prints.
type OpenedAccount struct {
	ID     string `json:"id"`
	APIKey string `json:"api_key"`
}

// ListedPerson is a row of person list.
type ListedPerson struct {
	ID      string `json:"id"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Mail    string `json:"mail"`
}

// ListedMember is a row of account member list.
type ListedMember struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Mail  string `json:"mail"`
	Role  string `json:"role"`
	Group string `json:"group"`
}

// ProjectionStatus is a row of projections status.
type ProjectionStatus struct {
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

// CopiedLog is what eventstore copy prints.
type CopiedLog struct {
	Events int64 `json:"events"`
	New    int64 `json:"new"`
}

// RunningDev is the file in which operator commands find a running dev.
type RunningDev struct {
	EventStore string `json:"eventstore"`
	Database   string `json:"database"`
}

// FindRunning returns the addresses of the dev that runs on a data folder.
func FindRunning(t *testing.T, folder string) (running RunningDev) {
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
