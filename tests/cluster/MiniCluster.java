import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** YARN with two node managers, and HDFS, on loopback; writes their configuration to a folder. */
public class MiniCluster {
    public static void main(String[] args) {
        try {
            start(Path.of(args[0]));
        } catch (Exception | Error error) {
            error.printStackTrace();
            System.exit(1); // other threads would go on
        }
    }

    private static void start(Path folder) throws Exception {
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
        Configuration written = new Configuration(cluster.getConfig());
        // That of MiniDFSCluster is a class that jobs do not have.
        written.set("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.ScriptBasedMapping");
        for (String name : new String[] {"yarn-site.xml", "core-site.xml"}) {
            try (OutputStream stream = Files.newOutputStream(folder.resolve(name))) {
                written.writeXml(stream);
            }
        }
        System.out.println("ready " + files.getURI() + " " + files.getNameNode().getHttpAddress().getPort());
        Thread.sleep(Long.MAX_VALUE);
    }
}
