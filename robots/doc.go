// Package robots decides by the words of a User-Agent whether a robot or a person sent it. At a
// visit it reads the whole User-Agent, and later only the name of the program, which a click keeps.
// It knows neither requests nor events.
package robots
