// Package projectionscommand has the commands that show and operate the projections. It only
// defines their flags and calls other packages. It MUST NOT do more.
package projectionscommand

import (
	"context"
	"time"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/maintenance"
	"linkledger/internal/usage"
)

// Projections groups the commands that show and operate the projections.
type Projections struct {
	List        projectionsList        `cmd:"" help:"List the projections and their generations."`
	Status      projectionsStatus      `cmd:"" help:"${status_command}"`
	Pause       projectionsPause       `cmd:"" help:"Stop updating a projection until it resumes."`
	Resume      projectionsResume      `cmd:"" help:"${resume_command}"`
	Verify      projectionsVerify      `cmd:"" help:"${verify_tables_command}"`
	Rebuild     projectionsRebuild     `cmd:"" help:"${rebuild_command}"`
	Rollback    projectionsRollback    `cmd:"" help:"Switch readers to the previous generation."`
	Prune       projectionsPrune       `cmd:"" help:"Delete the generations that do not serve."`
	DeadLetters projectionsDeadLetters `cmd:"" help:"List, retry or discard dead letters."`
}

type projectionsList struct {
	command.OperatorFlags
}

// Run prints the projections and their generations.
func (c *projectionsList) Run(ctx context.Context, p *command.Process) error {
	return maintenance.List(ctx, c.By(p))
}

type projectionsStatus struct {
	command.OperatorFlags
	Watch    bool          `help:"Repeat the output until Ctrl-C."`
	Interval time.Duration `help:"Time between two outputs of --watch." default:"1s"`
}

// Run prints the progress of each projection. With --watch it does so until ctx ends.
func (c *projectionsStatus) Run(ctx context.Context, p *command.Process) error {
	if c.Interval < 100*time.Millisecond {
		return usage.Errorf("%s is not valid for --interval: give at least 100ms", c.Interval)
	}
	return maintenance.Status(ctx, c.By(p), c.Watch, c.Interval)
}

type projectionsPause struct {
	command.OperatorFlags
	Name string `arg:"" help:"Name of the projection."`
}

// Run stops the updates of the projection until it is resumed.
func (c *projectionsPause) Run(ctx context.Context, p *command.Process) error {
	return maintenance.Pause(ctx, c.By(p), c.Name)
}

type projectionsResume struct {
	command.OperatorFlags
	Name string `arg:"" help:"Name of the projection."`
}

// Run ends a pause, or lets a stopped projection try again at once.
func (c *projectionsResume) Run(ctx context.Context, p *command.Process) error {
	return maintenance.Resume(ctx, c.By(p), c.Name)
}

// someProjections has the flags that select one projection or all.
type someProjections struct {
	command.OperatorFlags
	Name string `arg:"" optional:"" help:"Name of the projection."`
	All  bool   `help:"All projections."`
}

// names returns the selected projection, or nil for all. It returns an error unless either a name
// or --all is given.
func (c *someProjections) names() ([]string, error) {
	switch {
	case c.All == (c.Name != ""):
		return nil, usage.Errorf("give the name of one projection, or --all")
	case c.All:
		return nil, nil
	}
	return []string{c.Name}, nil
}

type projectionsVerify struct {
	someProjections
}

// Run prints the rows that differ from a replay of the log, and fails if there are any.
func (c *projectionsVerify) Run(ctx context.Context, p *command.Process) error {
	names, err := c.names()
	if err != nil {
		return err
	}
	return maintenance.Verify(ctx, c.By(p), names)
}

type projectionsRebuild struct {
	someProjections
	Agents        string `help:"${judging_agents}" placeholder:"FILE" noenv:""`
	BuiltInAgents bool   `help:"${built_in_agents}" noenv:""`
	Connections   int    `default:"10" help:"${connections}"`
}

// Run builds the next generations, and returns when they serve readers.
func (c *projectionsRebuild) Run(ctx context.Context, p *command.Process) error {
	words, err := maintenance.ReadWords(c.Agents, c.BuiltInAgents)
	if err != nil {
		return err
	}
	cfg := maintenance.RebuildConfig{Words: words, Connections: c.Connections}
	if words != nil && !c.All {
		cfg.Names, err = maintenance.Judging(c.Name)
	} else {
		cfg.Names, err = c.names()
	}
	if err != nil {
		return err
	}
	if c.Connections < 8 || c.Connections > 100 {
		return usage.Errorf("--connections must be 8 to 100, not %d", c.Connections)
	}
	return maintenance.Rebuild(ctx, c.By(p), cfg)
}

type projectionsRollback struct {
	command.OperatorFlags
	Name string `arg:"" help:"Name of the projection."`
}

// Run switches readers back to the previous generation.
func (c *projectionsRollback) Run(ctx context.Context, p *command.Process) error {
	return maintenance.Rollback(ctx, c.By(p), c.Name)
}

type projectionsPrune struct {
	someProjections
}

// Run deletes the generations that do not serve.
func (c *projectionsPrune) Run(ctx context.Context, p *command.Process) error {
	names, err := c.names()
	if err != nil {
		return err
	}
	return maintenance.Prune(ctx, c.By(p), names)
}

type projectionsDeadLetters struct {
	List      deadLettersList      `cmd:"" default:"withargs" help:"List dead letters (default)."`
	Retry     deadLettersRetry     `cmd:"" help:"Apply dead letters in log order."`
	Discard   deadLettersDiscard   `cmd:"" help:"Discard the first of each stream, apply the rest."`
	Discarded deadLettersDiscarded `cmd:"" help:"List discarded events."`
	Restore   deadLettersRestore   `cmd:"" help:"Undo discards, for the next rebuild."`
}

type deadLettersList struct {
	command.OperatorFlags
	Name string `arg:"" optional:"" help:"Name of the projection; all by default."`
}

// Run prints the dead letters of the projection, or of all.
func (c *deadLettersList) Run(ctx context.Context, p *command.Process) error {
	return maintenance.DeadLetters(ctx, c.By(p), c.Name)
}

// letterFlags has the flags that select dead letters.
type letterFlags struct {
	command.OperatorFlags
	Name   string `arg:"" help:"Name of the projection."`
	Stream string `help:"Only the events of this stream." placeholder:"STREAM"`
}

func (c *letterFlags) selection() maintenance.DeadLetterSelection {
	return maintenance.DeadLetterSelection{Projection: c.Name, Stream: c.Stream}
}

type deadLettersRetry struct {
	letterFlags
}

// Run applies the selected dead letters in the order of the log.
func (c *deadLettersRetry) Run(ctx context.Context, p *command.Process) error {
	return maintenance.RetryDeadLetters(ctx, c.By(p), c.selection())
}

type deadLettersDiscard struct {
	letterFlags
}

// Run discards the first selected dead letter of each stream, and applies the dead letters that
// follow it.
func (c *deadLettersDiscard) Run(ctx context.Context, p *command.Process) error {
	return maintenance.DiscardDeadLetters(ctx, c.By(p), c.selection())
}

type deadLettersDiscarded struct {
	command.OperatorFlags
	Name string `arg:"" optional:"" help:"Name of the projection; all by default."`
}

// Run prints the events that were discarded.
func (c *deadLettersDiscarded) Run(ctx context.Context, p *command.Process) error {
	return maintenance.DiscardedEvents(ctx, c.By(p), c.Name)
}

type deadLettersRestore struct {
	letterFlags
}

// Run undoes the discard of the selected events. The next rebuild applies them.
func (c *deadLettersRestore) Run(ctx context.Context, p *command.Process) error {
	return maintenance.RestoreDiscarded(ctx, c.By(p), c.selection())
}
