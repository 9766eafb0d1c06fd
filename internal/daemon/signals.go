package daemon

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// ending are the signals that ask a process to end. Without a handler, each of them ends the
// process at once, in the middle of its calls.
var ending = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM,
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSTKFLT,
}

// others are the signals that would end the process without a handler, and that mean nothing to a
// service. The signals that are neither in ending nor in others do nothing in a Go program, or stop
// it until SIGCONT.
//
// Without a handler of SIGPIPE, a write to standard output or standard error without a reader ends
// the process.
var others = []os.Signal{syscall.SIGHUP, syscall.SIGPIPE}

// urgentKey is the key of a value of a context. The value is the context that ends with the second
// signal that asks the process to end.
type urgentKey struct{}

// Signals returns a context that ends with ctx, or when a signal asks the process to end. The
// context of Urgent ends with a second such signal. Only SIGKILL ends the process at once. stop
// removes the handlers.
func Signals(ctx context.Context, logger *slog.Logger) (running context.Context, stop func()) {
	urgent, hurry := context.WithCancel(context.WithoutCancel(ctx))
	running, end := context.WithCancel(context.WithValue(ctx, urgentKey{}, urgent))
	asked := make(chan os.Signal, 16)
	signal.Notify(asked, ending...)
	signal.Notify(asked, others...)
	stopped, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		again := false // an earlier signal has asked the process to end
		for {
			select {
			case <-stopped:
				return
			case s := <-asked:
				handle(running, logger, s, again, end, hurry)
				again = again || slices.Contains(ending, s)
			}
		}
	}()
	return running, func() {
		signal.Stop(asked)
		close(stopped)
		<-watched
		end()
		hurry()
	}
}

// Urgent returns a context that ends when a second signal has asked the process of ctx to end. From
// then on the process answers the calls in hand and waits for nothing else.
func Urgent(ctx context.Context) context.Context {
	if urgent, ok := ctx.Value(urgentKey{}).(context.Context); ok {
		return urgent
	}
	return context.WithoutCancel(ctx)
}

// handle does what a signal asks for. again reports whether an earlier signal has asked the process
// to end.
func handle(
	running context.Context, logger *slog.Logger, s os.Signal, again bool, end, hurry func(),
) {
	switch {
	case s == syscall.SIGPIPE: // the write has failed, and its caller knows it
	case s == syscall.SIGHUP:
		logger.InfoContext(running, "SIGHUP changes nothing: files that can change while the "+
			"service runs are read again within a second of their change")
	case again:
		logger.InfoContext(
			running, "stopping without further delay: the calls in hand are answered",
			slog.String("signal", s.String()),
		)
		hurry()
	default:
		logger.InfoContext(running, "asked to stop", slog.String("signal", s.String()))
		end()
	}
}
