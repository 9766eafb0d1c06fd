// Package usage has the errors that users of the command line can correct: by other flags, another
// environment or a change to the machine.
package usage
