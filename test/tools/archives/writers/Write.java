import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Packs a folder into a zip on standard output. */
public final class Write {
  public static void main(String[] arguments) throws IOException {
    Path folder = Path.of(arguments[0]);
    List<Path> files;
    try (Stream<Path> found = Files.walk(folder)) {
      files = found.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
    }
    try (ZipOutputStream archive = new ZipOutputStream(System.out)) {
      for (Path file : files) {
        ZipEntry entry = new ZipEntry(folder.relativize(file).toString());
        entry.setLastModifiedTime(Files.getLastModifiedTime(file));
        archive.putNextEntry(entry);
        Files.copy(file, archive);
        archive.closeEntry();
      }
    }
  }
}
