// Command linkledger is a URL shortener whose database is its history. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker, see the Makefile.
var version = "development"

// Exit codes.
const (
	exitFailed = 1 // something went wrong while running
	exitUsage  = 2 // the configuration or the machine must be changed first
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "linkledger:", err)
		os.Exit(exitCode(err))
	}
}

// usageError is an error that the user can mend by calling otherwise or by changing the machine.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// exited carries the status of --help and --version out of kong.
type exited int

// run is the whole program but for the process: a test may call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) (err error) {
	var cli commandLine
	parser, err := kong.New(&cli,
		kong.Name("linkledger"),
		kong.Description("A URL shortener whose database is its history. Every flag can also be given in the environment, "+
			"as LINKLEDGER_ and the flag's name in capitals: LINKLEDGER_LISTEN, LINKLEDGER_LOG_LEVEL."),
		kong.Vars{"version": version},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.Resolvers(environment(getenv)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.UsageOnError(),
	)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			code, ok := p.(exited)
			if !ok {
				panic(p)
			}
			if code != 0 {
				err = usage("exit %d", code)
			}
		}
	}()
	call, err := parser.Parse(args)
	if err != nil {
		return usage("%w (linkledger --help lists the commands)", err)
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: cli.LogLevel}))
	return call.Run(&process{getenv: getenv, stdout: stdout, stderr: stderr, logger: logger})
}

// process is what a command gets from the outside.
type process struct {
	getenv func(string) string
	stdout io.Writer
	stderr io.Writer
	logger *slog.Logger
}

// environment gives flags their values from the environment.
func environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := "LINKLEDGER_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value := getenv(name)
		if value == "" {
			return nil, nil //nolint:nilnil // kong's way to say: not set
		}
		if flag.Target.Kind() == reflect.Bool {
			return value == "true" || value == "1", nil
		}
		return value, nil
	})
}
