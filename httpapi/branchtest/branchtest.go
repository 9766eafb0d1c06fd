// Package branchtest finds the states of pages that the tests of a package leave out. It records
// which branches of the templates are taken. It is for tests only.
package branchtest

import (
	"flag"
	"fmt"
	"html/template"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template/parse"

	"linkledger/internal/pgserver/postgrestest"
)

// branches are those of all watched templates.
type branches struct {
	mu    sync.Mutex
	taken map[string]bool                  // by the place of the branch
	marks map[condition]*parse.CommandNode // calls of branch
}

// condition is a condition of a template, by the console that it belongs to, its file and its place there.
type condition struct {
	console, file string
	at            parse.Pos
}

var seen = branches{taken: make(map[string]bool), marks: make(map[condition]*parse.CommandNode)}

// Watch makes the templates of a console report their branches until the process ends. It changes
// conditions, not what they are true for.
func Watch(t testing.TB, console string, pages map[string]*template.Template) {
	t.Helper()
	for _, page := range pages {
		page.Funcs(template.FuncMap{"branch": seen.branch})
		for _, of := range page.Templates() {
			if of.Tree != nil {
				seen.walk(t, console, of.Tree, of.Tree.Root)
			}
		}
	}
}

// branch records the branch that a value chooses, and returns the value.
func (b *branches) branch(place string, value any) any {
	truth, _ := template.IsTrue(value)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken[fmt.Sprint(place, " ", truth)] = true
	return value
}

// missed returns the branches that were never taken.
func (b *branches) missed() (missed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, branch := range slices.Sorted(maps.Keys(b.taken)) {
		if !b.taken[branch] {
			missed = append(missed, branch)
		}
	}
	return missed
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

// mark adds a call of branch to a condition.
func (b *branches) mark(
	t testing.TB, console string, tree *parse.Tree, node parse.Node, pipe *parse.PipeNode, both bool,
) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	// All stacks have the same templates.
	key := condition{console, tree.ParseName, node.Position()}
	if known, ok := b.marks[key]; ok {
		pipe.Cmds = append(pipe.Cmds, known)
		return
	}
	location, _ := tree.ErrorContext(node)
	place := location + " " + pipe.String()
	b.taken[place+" true"] = false
	if both {
		b.taken[place+" false"] = false
	}
	call, err := parse.Parse("call", fmt.Sprintf("{{branch %q}}", place), "", "", map[string]any{"branch": b.branch})
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

// Main runs all tests of a package, and fails if they pass and leave out a branch of a watched
// template. It does not fail a part of the tests, nor where there is no Chromium.
type Main struct{ postgrestest.Main }

// Run implements the interface that goleak.VerifyTestMain takes.
func (m Main) Run() int {
	code := m.Main.Run()
	for _, part := range []string{"test.run", "test.skip", "test.bench", "test.list", "test.fuzz"} {
		if set := flag.Lookup(part); set != nil && set.Value.String() != "" {
			return code
		}
	}
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() || code != 0 {
		return code
	}
	if missed := seen.missed(); len(missed) > 0 {
		fmt.Fprintf(os.Stderr, "no test renders these states of pages:\n%s\n", strings.Join(missed, "\n"))
		return 1
	}
	return code
}
