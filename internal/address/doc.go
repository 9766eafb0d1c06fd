// Package address opens the TCP addresses that flags give, and says who reaches them.
package address
