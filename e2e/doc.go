// Package e2e has the tests of real processes. They build the program once, start it as a user
// would, and know it by its command line, its API, its files and its backends alone.
package e2e
