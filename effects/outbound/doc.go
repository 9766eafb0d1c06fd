// Package outbound makes HTTP requests to addresses that people outside have chosen, such as those
// of webhooks. It never connects to the service's own network: it checks the address of each
// connection when it is made, so no name can lead there, however it is resolved. It follows no
// redirects, and bounds the time and the size of answers.
package outbound
