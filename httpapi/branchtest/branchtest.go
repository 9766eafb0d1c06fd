// Package branchtest finds the states of pages that no test renders. The tests of each package record
// which branches of the templates they take, and Missed compares the records. It is for tests only.
package branchtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"text/template/parse"
	"time"

	"linkledger/internal/pgserver/postgrestest"
)

// branches are the branches of all watched templates.
type branches struct {
	mu    sync.Mutex
	taken map[string]bool                  // by the place of the branch; false: not taken yet
	marks map[condition]*parse.CommandNode // the call of {{branch}} that mark added
}

// condition identifies a condition of a template by its console, its file and its place in the
// file.
type condition struct {
	console, file string
	at            parse.Pos
}

var seen = branches{taken: make(map[string]bool), marks: make(map[condition]*parse.CommandNode)}

// Watch makes the templates of a console report their branches until the process ends. It rewrites conditions without
// changing their values.
func Watch(t testing.TB, console string, pages map[string]*template.Template) {
	t.Helper()
	for _, page := range pages {
		page.Funcs(template.FuncMap{"branch": seen.take})
		for _, of := range page.Templates() {
			if of.Tree != nil {
				seen.walk(t, console, of.Tree, of.Tree.Root)
			}
		}
	}
}

// take is the template function {{branch}}. It records which branch the value of a condition
// chooses, and returns the value.
func (b *branches) take(place string, value any) any {
	truth, _ := template.IsTrue(value)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken[fmt.Sprint(place, " ", truth)] = true
	return value
}

// recordTime is the modification time of all records. It is in the past, because the go command
// does not cache the results of tests that have opened a file modified within the last two seconds.
var recordTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// store writes the record of this process into a folder, under the name of its package's folder.
// Then it opens the record, so that the go command uses the cached result of the tests only while
// the record is unchanged.
func (b *branches) store(folder string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	encoded, err := json.Marshal(b.taken)
	if err != nil {
		return err
	}
	tested, err := os.Getwd()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, url.PathEscape(tested))
	//nolint:gosec // make test names the folder
	err = errors.Join(os.WriteFile(path, encoded, 0o600), os.Chtimes(path, recordTime, recordTime))
	if err != nil {
		return err
	}
	record, err := os.Open(path) //nolint:gosec // make test names the folder
	if err != nil {
		return err
	}
	return record.Close()
}

// Missed reads the records in a folder, and returns the branches that no test has taken.
func Missed(folder string) (missed []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there are no records of branches"))
	}
	taken := make(map[string]bool)
	for _, file := range files {
		if tested, err := url.PathUnescape(filepath.Base(file)); err != nil || !isFolder(tested) {
			continue // the folder of the package no longer exists
		}
		encoded, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var record map[string]bool
		if err := json.Unmarshal(encoded, &record); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for branch, is := range record {
			taken[branch] = taken[branch] || is
		}
	}
	for _, branch := range slices.Sorted(maps.Keys(taken)) {
		if !taken[branch] {
			missed = append(missed, branch)
		}
	}
	return missed, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (b *branches) walk(t testing.TB, console string, tree *parse.Tree, node parse.Node) {
	t.Helper()
	switch node := node.(type) {
	case *parse.ListNode:
		if node != nil {
			for _, child := range node.Nodes {
				b.walk(t, console, tree, child)
			}
		}
	case *parse.IfNode:
		b.mark(t, console, tree, node, node.Pipe, true)
		b.walk(t, console, tree, node.List)
		b.walk(t, console, tree, node.ElseList)
	case *parse.WithNode:
		b.mark(t, console, tree, node, node.Pipe, true)
		b.walk(t, console, tree, node.List)
		b.walk(t, console, tree, node.ElseList)
	case *parse.RangeNode:
		b.mark(t, console, tree, node, node.Pipe, node.ElseList != nil)
		b.walk(t, console, tree, node.List)
		b.walk(t, console, tree, node.ElseList)
	}
}

// know records that a branch exists. A template that both consoles share is walked twice, so a test
// may have taken the branch before the second walk. The branch then stays taken.
func (b *branches) know(branch string) {
	if !b.taken[branch] {
		b.taken[branch] = false
	}
}

// mark adds a call of {{branch}} to a condition.
func (b *branches) mark(
	t testing.TB, console string, tree *parse.Tree, node parse.Node, pipe *parse.PipeNode, both bool,
) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	// All stacks have the same templates, so Watch may have made this call for another stack.
	key := condition{console, tree.ParseName, node.Position()}
	if known, ok := b.marks[key]; ok {
		pipe.Cmds = append(pipe.Cmds, known)
		return
	}
	location, _ := tree.ErrorContext(node)
	place := location + " " + pipe.String()
	b.know(place + " true")
	if both {
		b.know(place + " false")
	}
	call, err := parse.Parse("call", fmt.Sprintf("{{branch %q}}", place), "", "", map[string]any{"branch": b.take})
	if err != nil {
		t.Fatal(err)
	}
	action, ok := call["call"].Root.Nodes[0].(*parse.ActionNode)
	if !ok {
		t.Fatalf("%s is no action", call["call"].Root)
	}
	b.marks[key] = action.Pipe.Cmds[0]
	pipe.Cmds = append(pipe.Cmds, b.marks[key])
}

// Main runs the tests of a package. If TEST_BRANCHES names a folder, it stores the record for
// Missed in the folder.
type Main struct{ postgrestest.Main }

// Run implements the interface that goleak.VerifyTestMain takes.
func (m Main) Run() int {
	code := m.Main.Run()
	if folder := os.Getenv("TEST_BRANCHES"); folder != "" && code == 0 {
		if err := seen.store(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
