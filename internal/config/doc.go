// Package config defines the flags of the service that several commands share: their help texts,
// their valid values, and their names in the environment.
package config
