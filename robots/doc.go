// Package robots tells the programs of robots from those of people by the words of their
// User-Agent: at a visit by the whole of it, and later by the name of the program, which a click
// keeps. It knows neither requests nor events.
package robots
