import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** YARN with two node managers, and HDFS, on loopback; writes their configuration to a folder. */
public class MiniCluster {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Configuration settings = new YarnConfiguration();
        settings.set("yarn.nodemanager.resource.memory-mb", "4096");
        settings.set("yarn.scheduler.minimum-allocation-mb", "256");
        settings.set("yarn.nodemanager.vmem-check-enabled", "false");
        settings.set("yarn.nodemanager.pmem-check-enabled", "false");
        settings.set("yarn.nodemanager.disk-health-checker.enable", "false");
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
        MiniDFSCluster files =
                new MiniDFSCluster.Builder(settings, folder.resolve("hdfs").toFile()).numDataNodes(1).build();
        settings.set("fs.defaultFS", files.getURI().toString());
        MiniYARNCluster cluster = new MiniYARNCluster("adnominal", 2, 1, 1);
        cluster.init(settings);
        cluster.start();
        for (String name : new String[] {"yarn-site.xml", "core-site.xml"}) {
            try (OutputStream stream = Files.newOutputStream(folder.resolve(name))) {
                cluster.getConfig().writeXml(stream);
            }
        }
        System.out.println("ready " + files.getURI());
        Thread.sleep(Long.MAX_VALUE);
    }
}
