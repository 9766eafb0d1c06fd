// Package branchtest finds the states of pages that the tests of a package leave out. It records
// which branches of the templates are taken. It is for tests only.
package branchtest

import (
	"flag"
	"fmt"
	"html/template"
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
	taken map[branch]bool
	marks map[condition]*parse.CommandNode // calls of branch
}

// branch is what a condition is for, at a place of a template.
type branch struct {
	console, place string
	truth          bool
}

// condition is a condition of a template, by the console that it belongs to, its file and its place there.
type condition struct {
	console, file string
	at            parse.Pos
}

var seen = branches{taken: make(map[branch]bool), marks: make(map[condition]*parse.CommandNode)}

// Watch makes the templates of a console report their branches until the process ends. It changes
// conditions, not what they are true for.
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

// take records the branch that a value chooses, and returns the value.
func (b *branches) take(console, place string, value any) any {
	truth, _ := template.IsTrue(value)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken[branch{console, place, truth}] = true
	return value
}

// missed returns the branches of some consoles that were never taken, or of all.
func (b *branches) missed(of []string) (missed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for branch, taken := range b.taken {
		if !taken && (of == nil || slices.Contains(of, branch.console)) {
			missed = append(missed, fmt.Sprint(branch.place, " ", branch.truth))
		}
	}
	slices.Sort(missed)
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
	b.taken[branch{console, place, true}] = false
	if both {
		b.taken[branch{console, place, false}] = false
	}
	call, err := parse.Parse(
		"call", fmt.Sprintf("{{branch %q %q}}", console, place), "", "", map[string]any{"branch": b.take},
	)
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
// template of the consoles Of, or of all. It does not fail a part of the tests, nor where there is no Chromium.
type Main struct {
	postgrestest.Main

	Of []string // as Watch calls them; nil: all
}

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
	if missed := seen.missed(m.Of); len(missed) > 0 {
		fmt.Fprintf(os.Stderr, "no test renders these states of pages:\n%s\n", strings.Join(missed, "\n"))
		return 1
	}
	return code
}
