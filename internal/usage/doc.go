// Package usage has the errors that the user of the command line can mend: by other flags, another
// environment or a change to the machine.
package usage
