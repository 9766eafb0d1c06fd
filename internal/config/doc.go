// Package config has the flags of the service, which commands share: what they mean, which values
// are valid, and how the environment stands for them.
package config
