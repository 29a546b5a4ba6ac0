// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Results named on the command line. */
final class ResultsFile {
    private ResultsFile() {}

    /** @throws ParameterException there is no such file, or it holds something else */
    static Results load(Path file, CommandLine at) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new ParameterException(at, "\"" + file + "\" is not a file");
        }
        try {
            return ResultsJson.load(file);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(at, e.getMessage());
        }
    }
}
