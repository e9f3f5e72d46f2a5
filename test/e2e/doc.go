// Package e2e tests the whole of MCPYard: clients, the ingress, NATS, workers
// and their tools. The programs run in this process where a test looks at what
// they leave behind, and as the processes that operators start where it is about
// signals, exit codes and streams.
//
// Start at rig_test.go, which starts programs, and caller_test.go, which talks
// to them.
package e2e
