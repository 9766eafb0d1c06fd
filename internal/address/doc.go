// Package address opens the TCP addresses of flags and determines which machines can reach them.
package address
