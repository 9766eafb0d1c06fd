package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger-bench/internal/control"
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program until it ends or a signal stops it, and returns the exit code.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "linkledger-bench:", err)
		return 1
	}
	return 0
}

type commandLine struct {
	Measure measureCommand `cmd:"" default:"withargs" help:"Measure (the default)."`
	Control controlCommand `cmd:"" hidden:"" help:"Serve what the program is measured against."`
}

// controlCommand serves what the program is measured against.
type controlCommand struct{}

// Run serves the control until ctx ends.
func (*controlCommand) Run(ctx context.Context, p *process) error {
	return control.Serve(ctx, p.stdout)
}

// process has the outputs of a command.
type process struct {
	stdout io.Writer // results
	stderr io.Writer // progress
}

// run is the whole program except for signals and the exit code. Tests call it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cli commandLine
	parser, err := kong.New(&cli, kong.Name(
		"linkledger-bench",
	), kong.Writers(stdout, stderr), helpTexts,
		kong.Description(
			"Measures linkledger beside controls, prints a table and writes it as JSON.",
		))
	if err != nil {
		return err
	}
	call, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w (linkledger-bench --help lists the flags)", err)
	}
	call.BindTo(ctx, (*context.Context)(nil))
	return call.Run(&process{stdout: stdout, stderr: stderr})
}
