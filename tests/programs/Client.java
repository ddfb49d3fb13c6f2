import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Both of Java's HTTP clients: Client URL... */
public class Client {
	public static void main(String[] urls) throws Exception {
		HttpClient client = HttpClient.newHttpClient();

		for (String url : urls) {
			HttpURLConnection old = (HttpURLConnection) URI.create(url).toURL().openConnection();
			HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
			HttpResponse<String> answer;

			System.out.print(new String(old.getInputStream().readAllBytes()));
			answer = client.send(request, HttpResponse.BodyHandlers.ofString());
			if (answer.statusCode() != 200)
				throw new IOException("status " + answer.statusCode());
			System.out.print(answer.body());
		}
		System.exit(0);
	}
}
