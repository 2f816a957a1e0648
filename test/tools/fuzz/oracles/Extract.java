import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.util.Collections;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Unpacks zips as Java programs do: a line `format TAB archive TAB folder` in, a line with `ok` or the error out. With the
 * argument `stream` it never looks at the central directory.
 */
public final class Extract {
  public static void main(String[] arguments) throws IOException {
    boolean stream = arguments[0].equals("stream");
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      String[] request = line.split("\t");
      String answer = "ok";
      try {
        if (stream) readStream(request[1], new File(request[2]));
        else readDirectory(request[1], new File(request[2]));
      } catch (Exception error) {
        answer = error.toString().replace("\n", " ");
      }
      System.out.println(answer);
      System.out.flush();
    }
  }

  private static void readDirectory(String archive, File folder) throws IOException {
    try (JarFile opened = new JarFile(archive)) {
      for (ZipEntry entry : Collections.list(opened.entries())) {
        try (InputStream content = opened.getInputStream(entry)) {
          create(entry, content, folder);
        }
      }
    }
  }

  private static void readStream(String archive, File folder) throws IOException {
    try (ZipInputStream opened = new ZipInputStream(new FileInputStream(archive))) {
      for (ZipEntry entry = opened.getNextEntry(); entry != null; entry = opened.getNextEntry()) {
        create(entry, opened, folder);
      }
    }
  }

  private static void create(ZipEntry entry, InputStream content, File folder) throws IOException {
    File target = new File(folder, entry.getName());
    if (entry.isDirectory()) {
      target.mkdirs();
      return;
    }
    target.getParentFile().mkdirs();
    Files.copy(content, target.toPath());
  }
}
