// A client with the stubs that crawler-commons publish. The test test_java_client.py starts it.

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.AckMessage;
import crawlercommons.urlfrontier.Urlfrontier.DiscoveredURLItem;
import crawlercommons.urlfrontier.Urlfrontier.GetParams;
import crawlercommons.urlfrontier.Urlfrontier.KnownURLItem;
import crawlercommons.urlfrontier.Urlfrontier.Local;
import crawlercommons.urlfrontier.Urlfrontier.QueueWithinCrawlParams;
import crawlercommons.urlfrontier.Urlfrontier.URLInfo;
import crawlercommons.urlfrontier.Urlfrontier.URLItem;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class JavaClient {
  public static void main(String[] arguments) throws Exception {
    ManagedChannel channel = ManagedChannelBuilder.forTarget(arguments[0]).usePlaintext().build();
    var calls = URLFrontierGrpc.newBlockingStub(channel);
    System.out.println("crawls " + calls.listCrawls(Local.getDefaultInstance()).getValuesList());
    URLInfo link = URLInfo.newBuilder().setUrl("http://a.example/1").build();
    put(channel, URLItem.newBuilder().setDiscovered(DiscoveredURLItem.newBuilder().setInfo(link)).build());
    List<URLItem> visited = new ArrayList<>();
    calls.getURLs(GetParams.newBuilder().setMaxQueues(5).setDelayRequestable(60).build()).forEachRemaining(found -> {
      System.out.println("visit " + found.getUrl() + " of " + found.getKey());
      visited.add(URLItem.newBuilder().setKnown(KnownURLItem.newBuilder().setInfo(found)).build());
    });
    put(channel, visited.toArray(new URLItem[0]));
    var counts = calls.getStats(QueueWithinCrawlParams.getDefaultInstance());
    System.out.println("queued " + counts.getSize() + ", done " + counts.getCountsOrThrow("done"));
    channel.shutdownNow();
  }

  static void put(ManagedChannel channel, URLItem... items) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    StreamObserver<URLItem> sent = URLFrontierGrpc.newStub(channel).putURLs(new StreamObserver<AckMessage>() {
      public void onNext(AckMessage found) {
        System.out.println(found.getStatus() + " " + found.getID());
      }

      public void onError(Throwable error) {
        System.out.println(error);
        done.countDown();
      }

      public void onCompleted() {
        done.countDown();
      }
    });
    for (URLItem item : items) {
      sent.onNext(item);
    }
    sent.onCompleted();
    done.await(20, TimeUnit.SECONDS);
  }
}
