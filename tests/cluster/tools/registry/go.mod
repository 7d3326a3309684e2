module market-spread/tests/cluster/tools/registry

go 1.26

tool github.com/google/go-containerregistry/cmd/registry

require github.com/google/go-containerregistry v0.22.1
