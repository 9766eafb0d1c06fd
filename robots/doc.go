// Package robots decides by the words of a User-Agent, here called agent, whether a robot or a
// person sent it. During a visit the package reads the whole agent. A recorded click keeps only the
// names of programs in the agent, so the package judges a recorded click by these names. The
// package knows neither requests nor events.
package robots
