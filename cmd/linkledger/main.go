package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/daemon"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// version is set by the linker. See the Makefile.
var version = "development"

// Exit codes.
const (
	exitFailed = 1 // a failure while running
	exitUsage  = 2 // the user must change the configuration or the machine
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program until it ends or a signal stops it, and returns the exit code.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, unless it is a service
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if err != nil {
		printError(os.Stderr, err)
		return exitCode(err)
	}
	return 0
}

// printError prints the error with which the program ends. It escapes the error, because errors may
// quote texts of servers and logs.
func printError(stderr io.Writer, err error) {
	_, _ = io.WriteString(stderr, "linkledger: "+console.Error(err)+"\n") // fails if closed
}

func exitCode(err error) int {
	if usage.Is(err) {
		return exitUsage
	}
	return exitFailed
}

// exited carries the exit code of --help and --version out of kong by a panic, because kong expects
// its exit function not to return.
type exited int

// run is the whole program except for signals and the exit code. Tests call it.
func run(
	ctx context.Context, args, environ []string, stdout, stderr io.Writer,
) (err error) {
	var cli commandLine
	p := &command.Process{
		Getenv: lookup(environ), Version: version, Console: console.New(stdout, stderr),
	}
	parser, err := newParser(&cli, p)
	if err != nil {
		return err
	}
	defer func() {
		if cause := recover(); cause != nil {
			code, ok := cause.(exited)
			if !ok {
				panic(cause)
			}
			if code != 0 {
				err = usage.Errorf("exit %d", code)
			}
		}
	}()
	call, err := parser.Parse(args)
	if err != nil {
		return usage.Errorf("%s (linkledger --help lists the commands)", secret.Redact(err.Error()))
	}
	if err := config.CheckVariables(parser.Model, environ); err != nil {
		return err
	}
	_, lasts := call.Selected().Target.Addr().Interface().(service)
	if lasts {
		defer outlast(p, stdout, stderr)()
	}
	p.Logger = console.NewLogger(p.Stderr, cli.LogFormat, cli.LogLevel)
	if lasts {
		var stop func()
		ctx, stop = daemon.Signals(ctx, p.Logger)
		defer stop()
	}
	call.BindTo(ctx, (*context.Context)(nil))
	return call.Run(p)
}

// lookup returns a function that is like os.Getenv, but reads environ, which has the form of
// os.Environ.
func lookup(environ []string) func(string) string {
	values := make(map[string]string, len(environ))
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); values[name] == "" {
			values[name] = value
		}
	}
	return func(name string) string { return values[name] }
}

// service is a command that serves clients until it is asked to end.
type service interface{ serves() }

func (*devCommand) serves()      {}
func (*serveCommand) serves()    {}
func (*eventstoreServe) serves() {}

// outlast makes the process continue when its outputs cannot be written. flush writes the output
// that is still queued.
func outlast(p *command.Process, stdout, stderr io.Writer) (flush func()) {
	out, log := daemon.NewOutput(stdout), daemon.NewOutput(stderr)
	p.Console = console.New(out, log)
	p.Lost = func() uint64 { return out.Lost() + log.Lost() }
	return func() {
		out.Close()
		log.Close()
	}
}

func newParser(cli *commandLine, p *command.Process) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("linkledger"),
		kong.Description("A URL shortener whose database is its history. Every flag can also be "+
			"set in the environment, by LINKLEDGER_ and the flag's name in capitals: --log-level "+
			"by LINKLEDGER_LOG_LEVEL. The value can also be in a file: LINKLEDGER_LOG_LEVEL_FILE "+
			"names the file for --log-level."),
		kong.Vars{"version": version}, config.Placeholders, allHelpTexts().Option(),
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.Resolvers(config.Environment(p.Getenv)),
		kong.UsageOnError(),
	)
}
