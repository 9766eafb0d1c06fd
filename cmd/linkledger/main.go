package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
		fmt.Fprintln(os.Stderr, "linkledger:", shownText(err.Error()))
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	if isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// exited carries the status of --help and --version out of kong.
type exited int

// run is the whole program but for the process: a test may call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) (err error) {
	var cli commandLine
	p := &process{getenv: getenv, Console: Console{Stdout: stdout, Stderr: stderr}}
	parser, err := newParser(&cli, p)
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
		return usage("%s (linkledger --help lists the commands)", withoutConnections(err.Error()))
	}
	p.Logger = newLogger(stderr, cli.LogFormat, cli.LogLevel)
	call.BindTo(ctx, (*context.Context)(nil))
	return call.Run(p)
}

func newParser(cli *commandLine, p *process) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("linkledger"),
		kong.Description("A URL shortener whose database is its history. Every flag can also be given in the environment, "+
			"as LINKLEDGER_ and the flag's name in capitals: LINKLEDGER_LISTEN, LINKLEDGER_LOG_LEVEL; or in a file that "+
			"LINKLEDGER_LISTEN_FILE names."),
		kong.Vars{"version": version},
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.Resolvers(environment(p.getenv)),
		kong.UsageOnError(),
	)
}

// newLogger logs text for people or JSON for programs, which tells durations in seconds.
func newLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	seconds := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: seconds}))
}

// process is what a command gets from the outside.
type process struct {
	Console

	getenv func(string) string
}

// withoutPath is an error of a file without its name: in the place of one, the secret itself is given easily.
func withoutPath(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

// environment gives flags their values from the environment, or from the files that it names: so a secret can be mounted.
func environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := envName(flag.Name)
		value := getenv(name)
		if file := getenv(name + "_FILE"); value == "" && file != "" {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s_FILE: cannot read the file: %w", name, withoutPath(err))
			}
			value = strings.TrimSpace(string(content))
		}
		if value == "" {
			return nil, nil //nolint:nilnil // kong's way to say: not set
		}
		if flag.Target.Kind() == reflect.Bool {
			return value == "true" || value == "1", nil
		}
		return value, nil
	})
}
